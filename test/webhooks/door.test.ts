import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueCommented, issueOpened } from "../harness/alpha-payloads.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { type Receipt, signature } from "../harness/webhooks.ts";
import { login, startWorld, textsOf, type World, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";
const most = 26_214_400;

describeOnDatabases("the webhook door", (database) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ database, tasks: ["first"] });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  /** Sends bytes unchanged, with a signature. */
  const send = async (bytes: string | Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string> = {}) => {
    const text = bytes instanceof ReadableStream ? "" : bytes;
    const signed = { "x-hub-signature-256": signature(text, webhookSecret) };
    const response = await fetch(`${world.service.url}/webhook/alpha`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-alpha-event": "issues",
        "x-alpha-delivery": randomUUID(),
        ...signed,
        ...headers,
      },
      body: bytes,
      signal: AbortSignal.timeout(90_000),
      ...(bytes instanceof ReadableStream && { duplex: "half" }),
    } as RequestInit);
    return { status: response.status, body: (await response.json()) as Receipt & { error?: string } };
  };
  const events = async () => Number((await world.service.get("/api/webhook-events?limit=1")).headers.get("x-total-count"));
  const reasonOf = async (id: string) => (await world.service.get<{ reason: string }>(`/api/webhook-events/${id}`)).body.reason;

  test("the same delivery ten times at once runs once", async () => {
    const payload = issueOpened({ repo, number: 1 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.service.webhook(payload, { delivery: "ten" })));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 202]);
    expect(answers.map(({ body }) => body.status).sort()).toEqual(["accepted", ...Array(9).fill("duplicate")]);
    expect(new Set(answers.map(({ body }) => body.event_id)).size).toBe(1);
    const event_id = answers[0]?.body.event_id ?? "";
    expect(await waitForExecutions(world.service, { event_id })).toHaveLength(1);
    expect(textsOf(world.tracker, repo, 1)).toEqual(["Answer of first"]);
  });

  test("a long delivery id is recognised, and differs from one that begins alike", async () => {
    const long = "x".repeat(1_000);
    // The bodies differ, so only the id can show that it is the same delivery.
    const deliver = async (title: string, delivery: string) => {
      const { status, body } = await world.service.webhook(issueOpened({ repo, number: 5, title }), { delivery });
      return [status, body.status];
    };
    expect(await deliver("a", `${long}1`)).toEqual([202, "accepted"]);
    expect(await deliver("b", `${long}1`)).toEqual([200, "duplicate"]);
    expect(await deliver("c", `${long}2`)).toEqual([202, "accepted"]);
  });

  test("payloads that arrive together are each stored unchanged", async () => {
    const titles = ["plain", "größer", "不具合", '🐛 \\u0000 "quoted" \\\\', "", "x".repeat(70_000)];
    // Enough that some are stored in one batch with many others. Half of them start nothing.
    const payloads = [titles, titles, titles, titles].flat().map((title, i) => ({
      ...issueOpened({ repo, number: 700 + i, title }),
      ...(i % 2 === 1 && { action: "pinned" }),
    }));
    const answers = await Promise.all(payloads.map((payload) => world.service.webhook(payload)));
    const kept = answers.map(({ body }) => world.service.get<{ payload: unknown }>(`/api/webhook-events/${body.event_id}`));
    expect((await Promise.all(kept)).map(({ body }) => body.payload)).toEqual(payloads);
  });

  test("refuses wrong, missing and malformed signatures, and stores nothing", async () => {
    const before = await events();
    const payload = issueOpened({ repo, number: 2 });
    for (const headers of [
      { "x-hub-signature-256": signature("other", webhookSecret) },
      { "x-hub-signature-256": "" },
      { "x-hub-signature-256": "sha256=1234" },
      { "x-hub-signature-256": `sha1=${"a".repeat(40)}` },
    ]) {
      const { status, body } = await world.service.webhook(payload, { headers });
      expect({ headers, status, body }).toEqual({
        headers,
        status: 401,
        body: { error: expect.stringContaining("X-Hub-Signature-256") },
      });
    }
    expect((await world.service.webhook(payload, { secret: "wrong" })).status).toBe(401);
    // The signature covers the bytes: the same JSON in another spelling is another body.
    const spaced = JSON.stringify(payload, null, 1);
    expect((await send(spaced, { "x-hub-signature-256": signature(JSON.stringify(payload), webhookSecret) })).status).toBe(401);
    expect(await events()).toBe(before);
  });

  test.each([
    ["cut off", '{"action":"opened"'],
    ["nothing", ""],
    ["not JSON", "body=%7B%7D"],
    ["two values", "{} {}"],
    ["not UTF-8", Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
  ])("answers 400 to a body that is %s", async (_, body) => {
    const before = await events();
    const answer = await send(body);
    expect(answer).toEqual({ status: 400, body: { error: expect.stringMatching(/\w/) } });
    expect(await events()).toBe(before);
  });

  test.each([
    ["arrays", "[".repeat(100_000) + "]".repeat(100_000)],
    ["objects", `${'{"issue":'.repeat(100_000)}1${"}".repeat(100_000)}`],
    ["arrays that never end", "[".repeat(5_000_000)],
    ["arrays just too deep", "[".repeat(201) + "]".repeat(201)],
  ])("answers 400 to %s nested deeper than 200, and stores nothing", async (_, text) => {
    const before = await events();
    expect(await send(text)).toEqual({ status: 400, body: { error: expect.stringContaining("more than 200 levels deep") } });
    expect(await events()).toBe(before);
    const allowed = await send(`{"issue":${"[".repeat(199)}${"]".repeat(199)}}`);
    expect(allowed).toMatchObject({ status: 200, body: { status: "discarded" } });
  });

  test("answers 400 to a compressed body, real or claimed", async () => {
    const garbage = Uint8Array.from({ length: 500 }, (_, i) => (i * 37) % 256);
    const packed = await send(garbage, { "content-encoding": "gzip" });
    expect(packed).toEqual({
      status: 400,
      body: { error: expect.stringContaining('Content-Encoding is "gzip"; send it uncompressed') },
    });
    const form = await send("body=%7B%7D", { "content-type": "application/x-www-form-urlencoded" });
    expect(form).toEqual({ status: 400, body: { error: expect.stringContaining("send application/json") } });
  });

  test("accepts a form whose field payload is the JSON, signed over the form's bytes, and stores the JSON", async () => {
    const payload = issueOpened({ repo, number: 4_711 });
    const form = `payload=${encodeURIComponent(JSON.stringify(payload)).replaceAll("%20", "+")}`;
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const taken = await send(form, headers);
    expect(taken).toMatchObject({ status: 202, body: { status: "accepted", canonical_trigger: "issue.created" } });
    const { event_id } = taken.body as { event_id: string };
    expect((await world.service.get<{ payload: unknown }>(`/api/webhook-events/${event_id}`)).body.payload).toEqual(payload);
    expect(
      (await send(form, { ...headers, "x-hub-signature-256": signature(JSON.stringify(payload), webhookSecret) })).status,
    ).toBe(401);
    expect((await send("payload=%7B%22action", headers)).status).toBe(400);
  });

  test("answers 404 to a slug that does not exist", async () => {
    const answer = await world.service.webhook(issueOpened({ repo }), { slug: "omega" });
    expect(answer).toMatchObject({ status: 404, body: { error: expect.stringContaining("omega") } });
    for (const slug of ["__proto__", "constructor", "%00", "a%2Fb"]) {
      expect((await world.service.webhook(issueOpened({ repo }), { slug })).status).toBeOneOf([400, 404]);
    }
  });

  test("accepts 25 MiB, and answers 413 to one byte more", { timeout: 120_000 }, async () => {
    const padded = (bytes: number) => {
      const bare = JSON.stringify({ ...issueOpened({ repo, number: 3 }), padding: "" });
      return bare.replace(/""\}$/, `"${"x".repeat(bytes - Buffer.byteLength(bare))}"}`);
    };
    const taken = await send(padded(most));
    expect(taken).toMatchObject({ status: 202, body: { status: "accepted" } });
    const kept = await world.service.get<{ payload: { padding: string } }>(`/api/webhook-events/${taken.body.event_id}`);
    expect(kept.body.payload.padding.length).toBeGreaterThan(most - 50_000);
    expect(await send(padded(most + 1))).toMatchObject({ status: 413, body: { error: expect.stringContaining(String(most)) } });
    const large = new Uint8Array(1_000_000).fill(0x20);
    const chunked = new ReadableStream({
      start: (controller) => {
        for (let sent = 0; sent <= most; sent += large.length) controller.enqueue(large);
        controller.close();
      },
    });
    expect((await send(chunked)).status).toBe(413);
    expect((await world.service.get("/health")).status).toBe(200);
  });

  test.each([
    ["NUL characters", { title: "a\u0000b", body: "\u0000" }],
    ["lone surrogates", { title: "a\ud800b\udc00", body: "\udfff" }],
    ["a character across the end of the stored title", { title: `${"a".repeat(499)}🦉 and more`, body: "x" }],
    ["the longest text", { title: "ü".repeat(300), body: "🦉".repeat(65_536) }],
  ])("stores and runs an issue with %s", async (_, { title, body }) => {
    const number = 10 + title.length;
    const answer = await world.service.webhook(issueOpened({ repo, number, title, body }));
    expect(answer.status).toBe(202);
    const [execution] = await waitForExecutions(world.service, { event_id: answer.body.event_id });
    expect(execution).toMatchObject({ state: "succeeded" });
    expect((await world.service.get(`/api/webhook-events/${answer.body.event_id}`)).status).toBe(200);
    expect((await world.service.get(`/api/task-executions/${execution?.id}`)).status).toBe(200);
  });

  test.each([
    ["an array", "[]"],
    ["a number", "42"],
    ["a string", '"opened"'],
    ["null", "null"],
    ["an empty object", "{}"],
    ["__proto__", '{"__proto__":{"action":"opened","issue":{"number":1}},"constructor":{"prototype":{"x":1}}}'],
    ["an issue without a number", '{"action":"opened","issue":{"title":"x"},"repository":{"full_name":"octo/app"}}'],
    ["a number that is none", '{"action":"opened","issue":{"number":"1; drop"},"repository":{"full_name":"octo/app"}}'],
    ["a number beyond all", '{"action":"opened","issue":{"number":1e400},"repository":{"full_name":"octo/app"}}'],
    ["a repository that leads elsewhere", '{"action":"opened","issue":{"number":1},"repository":{"full_name":"../user"}}'],
    ["a payload without a repository", '{"action":"opened","issue":{"number":1}}'],
  ])("stores and discards %s, saying what is missing", async (_, body) => {
    const answer = await send(body);
    expect(answer).toMatchObject({ status: 200, body: { status: "discarded" } });
    expect(await reasonOf(answer.body.event_id)).toMatch(/is missing (issue\.number|repository\.full_name)/);
  });

  test("stores and discards events without a name or mapping", async () => {
    const unnamed = await send(JSON.stringify(issueOpened({ repo })), { "x-alpha-event": "" });
    expect(await reasonOf(unnamed.body.event_id)).toContain("the request is missing header X-Alpha-Event");
    const unmapped = await world.service.webhook(issueOpened({ repo }), { action: "pinned" });
    expect(unmapped).toMatchObject({ status: 200, body: { status: "discarded" } });
    expect(await reasonOf(unmapped.body.event_id)).toContain("issues/pinned");
    const logged = await eventually(() =>
      world.service
        .logs()
        .split("\n")
        .find((line) => line.includes(unmapped.body.event_id)),
    );
    expect(JSON.parse(logged)).toMatchObject({ message: "event discarded", slug: "alpha" });
  });

  test("its own events start nothing: known by account; a forged or quoted marker has no effect", async () => {
    const marker = "<!-- signalbox:0190-1.2 -->";
    const own = await world.service.webhook(issueOpened({ repo, number: 4, sender: login }));
    expect(own).toMatchObject({ status: 200, body: { status: "discarded" } });
    expect(await reasonOf(own.body.event_id)).toContain(login);
    const marked = await world.service.webhook(issueCommented({ repo, number: 4, comment: `${marker}\nAn answer.` }));
    expect(marked).toMatchObject({ status: 202, body: { status: "accepted", executions: [] } });
    const quoted = await world.service.webhook(issueCommented({ repo, number: 4, comment: `> ${marker}\n> An answer.\n\nNo.` }));
    expect(quoted).toMatchObject({
      status: 202,
      body: { status: "accepted", canonical_trigger: "issue.commented", executions: [] },
    });
    for (const { body } of [own, marked, quoted])
      expect((await world.service.get(`/api/task-executions?event_id=${body.event_id}`)).body).toEqual([]);
  });
});
