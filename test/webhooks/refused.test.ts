import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { eventually, hourLasts } from "../harness/wait.ts";
import { type Receipt, signature } from "../harness/webhooks.ts";
import { startWorld, type World, webhookSecret } from "../harness/world.ts";

interface Event {
  readonly id: string;
  readonly source: string;
  readonly slug: string;
  readonly event_name: string | null;
  readonly outcome: string;
  readonly reason: string;
}

let world: World;
let other: Tracker;
beforeAll(async () => {
  other = await startTracker({ token: "other-token", login: "other-bot", autoCreate: true });
  const env = { ENCRYPTION_KEY: randomBytes(32).toString("hex"), ALPHA_WEBHOOK_SECRET_PREVIOUS: "before" };
  world = await startWorld({ tasks: ["first"], env });
}, 120_000);
afterAll(async () => {
  await other?.close();
  await world?.[Symbol.asyncDispose]();
});

const send = (path: string, body: string, headers: Record<string, string> = {}) =>
  fetch(`${world.service.url}/webhook/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-github-event": "issues", ...headers },
    body,
  });
const signed = (body: string, secret = webhookSecret) => ({ "x-hub-signature-256": signature(body, secret) });
const refused = async (query = "") => {
  const { body, headers } = await world.service.get<Event[]>(`/api/webhook-events?outcome=refused${query}`);
  return { items: body, total: Number(headers.get("x-total-count")) };
};

test("a refused delivery is kept with its reason and without its body; other lists do not show it", async () => {
  const body = JSON.stringify({ ...issueOpened({ repo: "octo/app", number: 1 }), canary: "never-kept" });
  const large = "x".repeat(26_214_401);
  const sent = [
    [await send("alpha", body, signed(body, "wrong")), 401, "alpha", /signature/i],
    [await send("alpha", body), 401, "alpha", /signature/i],
    [await send("nowhere/never-here", body), 404, "unknown", /no webhook "nowhere\/never-here"/],
    [await send("alpha", "{never-kept", signed("{never-kept")), 400, "alpha", /not valid JSON/],
    [await send("alpha", large, signed(large)), 413, "alpha", /larger than 26214400 bytes/],
  ] as const;
  const { items, total } = await refused("&order=asc");
  expect(total).toBe(sent.length);
  sent.forEach(([answer, status, source, reason], i) => {
    expect([i, answer.status]).toEqual([i, status]);
    expect(items[i]).toMatchObject({ source, event_name: "issues", outcome: "refused", reason: expect.stringMatching(reason) });
  });
  expect(JSON.stringify(items)).not.toMatch(/never-kept|sha256=/);
  const [first] = items;
  const one = await world.service.get<object>(`/api/webhook-events/${first?.id}`);
  expect(one).toMatchObject({ status: 200, body: { outcome: "refused", payload: null, executions: [] } });
  const replay = await world.service.post<{ error: string }>(`/api/webhook-events/${first?.id}/replay`);
  expect(replay).toMatchObject({ status: 409, body: { error: expect.stringContaining("payload is not stored") } });
  expect((await world.service.get<Event[]>("/api/webhook-events")).body).toEqual([]);
  expect((await refused("&source=unknown&q=never-here")).items).toHaveLength(1);
  expect((await refused("&subject=octo/app%231")).items).toEqual([]);
});

test("signalbox doctor names a source whose webhooks are refused for their secret", async () => {
  const env = { SIGNALBOX_URL: world.service.url };
  const doctor = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["doctor"], env, cwd: world.service.folder });
  expect((await doctor.ended).code).toBe(1);
  expect(doctor.logs()).toMatch(/\d+ webhooks of alpha were refused in the last day: .*signature.*ALPHA_WEBHOOK_SECRET/i);
  expect(doctor.logs()).not.toContain("webhooks of unknown");
});

test("at most 1,000 per source and day are kept, without displacing other sources", async () => {
  // So that all are of one day.
  await hourLasts();
  const before = (await refused("&source=unknown")).total;
  for (let round = 0; round < 12; round++)
    await Promise.all(Array.from({ length: 100 }, (_, i) => send(`flood-${round}-${i}`, "{}").then((answer) => answer.text())));
  expect(before).toBeLessThan(10);
  expect((await refused("&source=unknown")).total).toBe(1_000);
  const { total } = await refused("&source=alpha");
  await send("alpha", "{}");
  expect((await refused("&source=alpha")).total).toBe(total + 1);
});

test("the previous secret of a webhook is accepted beside the new one, and the status says when it was used", async () => {
  const check = async (name: string) => {
    const { body } = await world.service.get<{ checks: { name: string; message: string }[] }>("/api/status");
    return body.checks.find((one) => one.name.startsWith(name))?.message ?? "";
  };
  const credentials = { token: "other-token", api_url: other.url, webhook_secret: "new", webhook_secret_previous: "old" };
  const made = await world.service.post<{ id: string }>("/api/integrations", { source: "alpha", name: "Customer", credentials });
  const { id } = made.body;
  let number = 10;
  const deliver = async (slug: string, secret: string) => {
    const body = JSON.stringify(issueOpened({ repo: "octo/app", number: ++number, sender: "mona" }));
    const answer = await send(slug, body, signed(body, secret));
    return [answer.status, ((await answer.json()) as Receipt).status];
  };
  await eventually(async () => /previous webhook secret has not been used/.test(await check("connection:alpha")));
  expect(await deliver("alpha", webhookSecret)).toEqual([202, "accepted"]);
  expect(await deliver("alpha", "before")).toEqual([202, "accepted"]);
  expect((await deliver("alpha", "neither"))[0]).toBe(401);
  expect(await deliver(id, "new")).toEqual([202, "accepted"]);
  expect(await deliver(id, "old")).toEqual([202, "accepted"]);
  expect((await deliver(id, "before"))[0]).toBe(401);
  expect(JSON.stringify(await world.service.get(`/api/integrations/${id}`))).not.toMatch(/"(?:old|new)"/);
});

test("a stored integration is tested with its own account", async () => {
  const make = async (credentials: object) =>
    (await world.service.post<{ id: string }>("/api/integrations", { source: "alpha", name: "Tested", credentials })).body.id;
  const tested = (id: string) => world.service.post<Record<string, unknown>>(`/api/integrations/${id}/test`);
  const good = await make({ token: "other-token", api_url: other.url });
  expect(await tested(good)).toMatchObject({ status: 200, body: { id: good, source: "alpha", status: "ok" } });
  const wrong = await tested(await make({ token: "of-nobody", api_url: other.url }));
  expect(wrong.body).toMatchObject({ status: "failed", account: null, message: expect.stringMatching(/401|credential|token/i) });
  expect((await tested(await make({ webhook_secret: "only" }))).body).toMatchObject({ status: "not_configured" });
  expect((await world.service.get("/api/integrations/alpha/test")).body).toEqual({ status: "ok", source: "alpha" });
  const put = await world.service.put<{ error: string }>("/api/integrations/alpha/test", {});
  expect([put.status, put.headers.get("allow")?.split(", ").sort()]).toEqual([405, ["GET", "POST"]]);
  expect(JSON.stringify(wrong)).not.toContain("of-nobody");
});
