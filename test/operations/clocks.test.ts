import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { shiftedClock } from "../harness/clock.ts";
import { freshDatabase } from "../harness/databases.ts";
import { gateway } from "../harness/gateway.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { webhookSecret } from "../harness/world.ts";

interface Status {
  readonly checks: readonly { readonly name: string; readonly state: string; readonly message: string }[];
}
const clockOf = async (service: Service) => {
  const { body } = await service.get<Status>("/api/status");
  return body.checks.find(({ name }) => name === "clock");
};

/** Everything that a stream has sent so far. */
async function follow(service: Service, signal: AbortSignal) {
  const { body } = await fetch(`${service.url}/api/events`, { signal });
  let text = "";
  const read = async () => {
    for await (const part of body as ReadableStream<Uint8Array>) text += new TextDecoder().decode(part);
  };
  read().catch(() => {});
  return () => text;
}

test("a replica whose clock is wrong says so, and its executions are in the order and the live updates of all replicas", {
  timeout: 180_000,
  tags: ["postgres", "node"],
}, async () => {
  await using database = await freshDatabase("migrated");
  const options = { databaseUrl: database.url, webhookSecret };
  const [right, ahead] = await Promise.all([
    startService({ ...options, seed: true }),
    startService({ ...options, env: shiftedClock(15 * 60) }),
  ]);
  const stop = new AbortController();
  try {
    const check = await eventually(() => clockOf(ahead));
    expect(check).toEqual(
      expect.objectContaining({ state: "degraded", message: expect.stringMatching(/ is (899|90\d) s ahead of /) }),
    );
    expect(await clockOf(right)).toBeUndefined();
    expect((await right.post("/api/pause", { scope: "all", reason: "test" })).status).toBe(200);
    const seen = await Promise.all([right, ahead].map((one) => follow(one, stop.signal)));
    const ids: string[] = [];
    for (const [at, service] of [ahead, right, ahead, right].entries()) {
      const { status, body } = await service.webhook(issueOpened({ number: at + 1 }), { delivery: `d-${at}` });
      expect(status).toBe(202);
      const [first = ""] = body.executions?.map(({ id }) => id) ?? [];
      ids.push(first);
      await eventually(() => seen.every((text) => text().includes(first)), { timeout: 10_000 });
    }
    expect(ids).toEqual(ids.toSorted());
  } finally {
    stop.abort();
    await Promise.all([right.close(), ahead.close()]);
  }
});

test("the session of an agent lasts by the database's clock", { timeout: 120_000, tags: ["postgres", "node"] }, async () => {
  await using service = await startService({ database: "postgres", seed: true, env: shiftedClock(-2 * 3600) });
  const { call } = gateway(service.url);
  const { body } = await call("RegisterAgent", { agent_id: "pm_default" });
  expect(Date.parse(String(body.expires_at ?? body.expiresAt)) - Date.now()).toBeGreaterThan(3_500_000);
  expect(await call("Heartbeat", { session_id: body.session_id ?? body.sessionId })).toMatchObject({ code: null });
});
