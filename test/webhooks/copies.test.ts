import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { signature } from "../harness/webhooks.ts";

const secret = "the secret of the webhook";

describeOnDatabases("a signed body that came before", (database) => {
  let service: Service;
  beforeAll(async () => {
    const env = { ENCRYPTION_KEY: "00".repeat(32), WEBHOOK_REPLAY_HOURS: "1" };
    service = await startService({ database, seed: true, webhookSecret: secret, env });
  }, 120_000);
  afterAll(() => service?.close());

  test("ten times at once, under different delivery ids, is one event", async () => {
    const payload = issueOpened({ repo: "octo/replayed", number: 70 });
    const sent = await Promise.all(Array.from({ length: 10 }, (_, i) => service.webhook(payload, { delivery: `copy-${i}` })));
    expect(sent.map(({ body }) => body.status).sort()).toEqual(["accepted", ...Array(9).fill("duplicate")]);
    expect(new Set(sent.map(({ body }) => body.event_id)).size).toBe(1);
    const later = await service.webhook(payload, { delivery: "copy-11" });
    expect(later.body).toEqual({ event_id: sent[0]?.body.event_id, status: "duplicate" });
  });
  test("differs from another body and from an operator's replay", async () => {
    const first = await service.webhook(issueOpened({ number: 71 }), { delivery: "d-71" });
    expect((await service.webhook(issueOpened({ number: 72 }), { delivery: "d-72" })).body.status).toBe("accepted");
    const replay = await service.post<{ status: string }>(`/api/webhook-events/${first.body.event_id}/replay`);
    expect(replay.body.status).toBe("accepted");
    const again = await service.webhook(issueOpened({ number: 71 }), { delivery: "d-71" });
    expect(again.body).toEqual({ event_id: first.body.event_id, status: "duplicate" });
  });
  const send = async (slug: string, body: string, headers: Record<string, string>) => {
    const sent = { "content-type": "application/json", "x-alpha-event": "issues", ...headers };
    const response = await fetch(`${service.url}/webhook/${slug}`, { method: "POST", headers: sent, body });
    return (await response.json()) as { status?: string; error?: string; event_id?: string };
  };
  const copyOf = async (slug: string, body: string, headers: Record<string, string>) => {
    const { status, error } = await send(slug, body, headers);
    return status ?? error ?? "";
  };
  const make = async (credentials: object) => {
    const made = await service.post<{ id: string }>("/api/integrations", { source: "alpha", name: "Ours", credentials });
    expect(made.status).toBe(201);
    return made.body.id;
  };

  test("is a duplicate at every webhook of its source that has its secret, and new at one with another secret", async () => {
    const body = JSON.stringify(issueOpened({ number: 80 }));
    const [inherits, same, other] = [
      await make({ token: "t" }),
      await make({ token: "t", webhook_secret: secret }),
      await make({ token: "t", webhook_secret: "a secret of its own" }),
    ];
    const rotating = await make({ token: "t", webhook_secret: "the new one", webhook_secret_previous: secret });
    const auth = { method: "hmac_sha256", header: "X-Hub-Signature-256", prefix: "sha256=", secret };
    const rules = { event_type: "$.action" };
    const mapping = {
      source: "alpha",
      path_pattern: "/webhook/team/:team",
      canonical_trigger: "a.b",
      extraction_rules: rules,
      auth,
    };
    expect((await service.post("/api/webhook-mappings", mapping)).status).toBe(201);
    const signed = { "x-hub-signature-256": signature(body, secret) };
    expect(await copyOf(inherits, body, signed)).toBe("accepted");
    for (const slug of ["alpha", same, inherits.toUpperCase(), rotating, "team/a", "team/b"])
      expect([slug, await copyOf(slug, body, { ...signed, "x-alpha-delivery": slug })]).toEqual([slug, "duplicate"]);
    expect(await copyOf(other, body, { "x-hub-signature-256": signature(body, "a secret of its own") })).toBe("accepted");
  });
  test("is a duplicate whichever webhooks with its secret are deleted or added", async () => {
    const body = JSON.stringify(issueOpened({ number: 82 }));
    const [older, newer] = ["a shared secret", "the next shared secret"];
    const first = await make({ token: "t", webhook_secret: newer, webhook_secret_previous: older });
    const [second, third] = [
      await make({ token: "t", webhook_secret: older }),
      await make({ token: "t", webhook_secret: newer }),
    ];
    const original = await send(second, body, { "x-hub-signature-256": signature(body, older) });
    const byNewer = { "x-hub-signature-256": signature(body, newer) };
    expect(original.status).toBe("accepted");
    expect(await send(first, body, byNewer)).toEqual({ event_id: original.event_id, status: "duplicate" });
    const rotated = JSON.stringify(issueOpened({ number: 83 }));
    const signed = { "x-hub-signature-256": signature(rotated, older) };
    const { event_id } = await send(first, rotated, signed);
    for (const id of [first, second]) expect((await service.del(`/api/integrations/${id}`)).status).toBe(204);
    const last = await make({ token: "t", webhook_secret: older });
    expect(await send(last, rotated, signed)).toEqual({ event_id, status: "duplicate" });
    expect(await send(third, rotated, { "x-hub-signature-256": signature(rotated, newer) })).toEqual({
      event_id,
      status: "duplicate",
    });
  });
  test("is a duplicate at any path of its mapping", async () => {
    const auth = { method: "token", header: "X-Shop-Token", secret: "the token of the shops" };
    const rules = { event_type: "$.type" };
    const mapping = {
      source: "shops",
      path_pattern: "/webhook/shops/:shop",
      canonical_trigger: "a.b",
      extraction_rules: rules,
      auth,
    };
    expect((await service.post("/api/webhook-mappings", mapping)).status).toBe(201);
    const sell = (slug: string) => copyOf(slug, '{"type":"sold"}', { "x-shop-token": "the token of the shops" });
    expect([await sell("shops/a"), await sell("shops/a"), await sell("shops/b")]).toEqual(["accepted", "duplicate", "duplicate"]);
  });
  test("is one event if it is sent to two webhooks with its secret at once", async () => {
    const body = JSON.stringify(issueOpened({ number: 81 }));
    const signed = { "x-hub-signature-256": signature(body, secret) };
    const rotating = { token: "t", webhook_secret: "a new one", webhook_secret_previous: secret };
    const slugs = ["alpha", await make({ token: "t" }), await make({ token: "t" }), await make(rotating)];
    const sent = await Promise.all([...slugs, ...slugs, ...slugs].map((slug) => copyOf(slug, body, signed)));
    expect(sent.sort()).toEqual(["accepted", ...Array(11).fill("duplicate")]);
  });
  const isStored = async (id = "") => (await service.get(`/api/webhook-events/${id}`)).status === 200;
  test("is answered with a stored event, also if its copies came to webhooks that accept different secrets at once", async () => {
    const [older, newer] = ["the secret until today", "the secret from today on"];
    const [old, next] = [await make({ token: "t", webhook_secret: older }), await make({ token: "t", webhook_secret: newer })];
    const rotating = await make({ token: "t", webhook_secret: newer, webhook_secret_previous: older });
    const answers: { status?: string; event_id?: string }[] = [];
    for (let number = 200; number < 208; number++) {
      const body = JSON.stringify(issueOpened({ number }));
      const signed = { "x-hub-signature-256": signature(body, older) };
      const copies = Array.from({ length: 12 }, (_, n) => send([old, rotating][(number + n) % 2] ?? "", body, signed));
      const sent = await Promise.all(copies);
      expect(sent.filter(({ status }) => status === "accepted")).toHaveLength(1);
      answers.push(...sent, await send(next, body, { "x-hub-signature-256": signature(body, newer) }));
    }
    const ids = [...new Set(answers.map(({ event_id }) => event_id))];
    expect(await Promise.all(ids.map(isStored))).toEqual(ids.map(() => true));
  });
  test("is answered with a stored event, also if the copy of another hook follows a copy of the same hook", async () => {
    const payload = issueOpened({ repo: "octo/hooked", number: 210 });
    const from = (hook: string, delivery: string, of: object) =>
      service.webhook(of, { delivery, headers: { "x-alpha-hook-id": hook } });
    const { event_id } = (await from("1", "hooked-1", payload)).body;
    const duplicate = { event_id, status: "duplicate" };
    expect((await from("1", "hooked-2", payload)).body).toEqual(duplicate);
    expect((await from("2", "hooked-3", { ...payload, organization: { id: 1 } })).body).toEqual(duplicate);
  });
  test("is a duplicate, also if it came together with the copy of another hook", async () => {
    const pairs = Array.from({ length: 8 }, (_, at) => {
      const payload = issueOpened({ repo: "octo/pairs", number: 220 + at });
      return [payload, { ...payload, organization: { id: 1 } }].map((one) => JSON.stringify(one));
    });
    const deliver = (body: string, headers = {}) =>
      send("alpha", body, { "x-hub-signature-256": signature(body, secret), ...headers });
    const sent = await Promise.all(
      pairs.map((pair, at) =>
        Promise.all(
          pair.map((body, hook) => deliver(body, { "x-alpha-delivery": `${hook}-${at}`, "x-alpha-hook-id": `${hook}` })),
        ),
      ),
    );
    expect(sent.map((pair) => pair.map(({ status }) => status).sort())).toEqual(pairs.map(() => ["accepted", "duplicate"]));
    // Without the id of its hook, only its body shows that it came before.
    const repeated = await Promise.all(pairs.flat().map((body) => deliver(body)));
    expect(repeated).toEqual(sent.flat().map(({ event_id }) => ({ event_id, status: "duplicate" })));
  });
});

test("one delivery to an integration is one event, however its id is written", async () => {
  await using open = await startService({ env: { ENCRYPTION_KEY: "00".repeat(32) }, seed: true });
  const made = await open.post<{ id: string }>("/api/integrations", {
    source: "alpha",
    name: "Ours",
    credentials: { token: "t" },
  });
  const send = async (slug: string) => {
    const headers = { "content-type": "application/json", "x-alpha-event": "issues", "x-alpha-delivery": "d-1" };
    const body = JSON.stringify(issueOpened({ number: 90 }));
    const response = await fetch(`${open.url}/webhook/${slug}`, { method: "POST", headers, body });
    return ((await response.json()) as { status: string }).status;
  };
  expect([await send(made.body.id), await send(made.body.id.toUpperCase())]).toEqual(["accepted", "duplicate"]);
});
