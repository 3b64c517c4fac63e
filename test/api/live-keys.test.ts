import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const admin = "an-admin-key-of-the-tests";
let world: World;
beforeAll(async () => {
  world = await startWorld({ tasks: ["only"], env: { API_KEYS: admin }, apiKey: admin });
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** A stream that is read in the background. */
function follow(headers: Record<string, string>) {
  const stream = { text: "", status: 0, isOver: false };
  const read = async () => {
    const response = await fetch(`${world.service.url}/api/events?seconds=600`, { headers });
    stream.status = response.status;
    const decoder = new TextDecoder();
    for await (const part of response.body ?? []) stream.text += decoder.decode(part, { stream: true });
  };
  // The service closes the last stream when it stops.
  read()
    .catch(() => {})
    .finally(() => {
      stream.isOver = true;
    });
  return stream;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const create = async (name: string, more: object = {}) =>
  (await world.service.post<{ id: number; key: string }>("/api/keys", { name, scopes: ["read"], ...more })).body;
const run = async (number: number) => {
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number }));
  await waitForExecutions(world.service, { event_id: body.event_id });
  return String(body.executions?.[0]?.id);
};

async function session(key: string): Promise<string> {
  const origin = { origin: world.service.url, "content-type": "application/json" };
  const body = JSON.stringify({ key });
  const answer = await fetch(`${world.service.url}/console/session`, { method: "POST", headers: origin, body });
  return String(answer.headers.get("set-cookie")).split(";")[0] ?? "";
}

test("a stream ends when its key is revoked or expires, or its session ends, and others continue", {
  timeout: 120_000,
}, async () => {
  const revoked = await create("revoked");
  const cookie = await session(admin);
  const streams = [follow(bearer(revoked.key)), follow({ cookie })];
  const kept = follow(bearer(admin));
  const before = await run(1);
  for (const stream of [...streams, kept]) await eventually(() => stream.text.includes(before));
  // Only now, so that it does not expire before its stream is open; another one if a busy machine opens it too late.
  const expiring = await eventually(async () => {
    const { key } = await create(`expiring ${Date.now()}`, { expires_at: new Date(Date.now() + 5_000).toISOString() });
    const stream = follow(bearer(key));
    await eventually(() => stream.status > 0);
    return stream.status === 200 && stream;
  });
  streams.push(expiring);

  expect((await world.service.del(`/api/keys/${revoked.id}`)).status).toBe(204);
  const loggedOut = { cookie, origin: world.service.url };
  expect((await fetch(`${world.service.url}/console/session`, { method: "DELETE", headers: loggedOut })).status).toBe(204);
  for (const stream of streams) await eventually(() => stream.isOver);
  for (const { text } of streams) expect(text).toMatch(/event: error\ndata: \{"error":"[^"]*revoked[^"]*"\}\n\n$/);

  const after = await run(2);
  await eventually(() => kept.text.includes(after));
  for (const { text } of streams) expect(text).not.toContain(after);
  expect(kept.isOver).toBe(false);
});
