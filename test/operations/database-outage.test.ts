import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { withoutRoom } from "../harness/database-faults.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { startService } from "../harness/service.ts";
import { startUrlProxy, type TcpProxy } from "../harness/tcp-proxy.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";

test("if the embedded database ends by itself, the process ends with its error", async () => {
  await using service = await startService({ runtime: "node", database: "embedded", webhookSecret: "s3cret" });
  // PostgreSQL cannot create the next file of its log, as on a full disk. The webhook needs one.
  rmSync(join(service.folder, "data/pg/pg_wal"), { recursive: true });
  const payload = { ...issueOpened({ repo, number: 1 }), noise: randomBytes(14_000_000).toString("base64") };
  await service.webhook(payload).catch(() => {});
  await eventually(() => service.logs().includes("The embedded database has ended: PostgreSQL aborted: could not"), {
    timeout: 60_000,
  });
  expect(await service.stop()).toEqual({ code: 1, signal: null });
});

// The embedded database ends only with the process.
describe("an attempt outlasts an outage of the database", { tags: ["postgres"] }, () => {
  let database: FreshDatabase;
  let proxy: TcpProxy & { readonly url: string };
  let world: World;
  let number = 0;
  beforeAll(async () => {
    database = await freshDatabase("migrated");
    proxy = await startUrlProxy(database.url);
    // A lease that does not expire during these tests, so that any wait for it fails the test.
    const env = { EXECUTION_LEASE_SECONDS: "600" };
    world = await startWorld({ databaseUrl: proxy.url, tasks: ["only"], env });
  });
  afterAll(async () => {
    await proxy.mend({ held: "reset" });
    await world[Symbol.asyncDispose]();
    await proxy.close();
    await database.drop();
  });

  const open = async () => {
    number++;
    const { status, body } = await world.service.webhook(issueOpened({ repo, number }), { delivery: `d-${number}` });
    expect(status).toBe(202);
    return body.event_id;
  };
  const waits = (since: number) => eventually(() => world.service.logs().slice(since).includes("the attempt tries again"));
  /** The tracker answers the next comment only once `clearFaults` is called, however long the test takes until then. */
  const holdComment = () => world.tracker.fault({ method: "POST", path: "comments", hold: true });
  const requestsOf = (method: string) =>
    world.tracker.requests.filter((one) => one.method === method && one.path.includes(`/issues/${number}/comments`)).length;
  /** It succeeded in its first attempt, which posted once and searched for nothing. */
  const succeedsAtOnce = async (event_id: string) => {
    const [execution] = await waitForExecutions(world.service, { event_id, count: 1 });
    expect(execution).toMatchObject({ state: "succeeded", error: null, attempts: 1 });
    expect(textsOf(world.tracker, repo, number)).toHaveLength(1);
    expect([requestsOf("POST"), requestsOf("GET")]).toEqual([1, 0]);
  };

  test("the metrics show it", async () => {
    const metrics = async () => (await fetch(`${world.service.url}/metrics`)).text();
    await eventually(async () => /^signalbox_check_up\{check="database"\} 1$/m.test(await metrics()));
    await proxy.cut();
    await eventually(async () => /^signalbox_check_up\{check="database"\} 0$/m.test(await metrics()), { timeout: 30_000 });
    await proxy.mend();
    await eventually(async () => /^signalbox_check_up\{check="database"\} 1$/m.test(await metrics()), { timeout: 30_000 });
  });

  test("while the model works", async () => {
    const { service, model } = world;
    const logged = service.logs().length;
    const held = model.fault({ path: "chat", hold: true });
    const event = await open();
    await eventually(() => held.applied === 1);
    await proxy.cut();
    const refused = await service.webhook(issueOpened({ repo, number: 1000 }), { delivery: "during" });
    expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("database") } });
    expect((await service.get("/health")).status).toBe(503);
    const call = await service.post("/signalbox.gateway.v1.AgentGateway/RegisterAgent", { agentId: "only" });
    expect(call).toMatchObject({ status: 503, body: { code: "unavailable", message: expect.stringContaining("database") } });
    expect(call.headers.get("retry-after")).toMatch(/^\d+$/);
    model.clearFaults();
    await waits(logged);
    await proxy.mend();
    await succeedsAtOnce(event);
    const repeated = await service.webhook(issueOpened({ repo, number: 1000 }), { delivery: "during" });
    expect(repeated.status).toBe(202);
    await waitForExecutions(service, { event_id: repeated.body.event_id, count: 1 });
    expect(textsOf(world.tracker, repo, 1000)).toHaveLength(1);
  });

  test("while the server refuses connections, for whatever reason", async () => {
    const { service } = world;
    const logged = service.logs().length;
    const held = holdComment();
    const event = await open();
    await eventually(() => held.applied === 1);
    await database.refuseConnections();
    world.tracker.clearFaults();
    // The first webhook may find a session that the server has just ended.
    await eventually(async () => {
      const refused = await service.webhook(issueOpened({ repo, number: 1001 }), { delivery: "refused" });
      expect(refused.status).toBe(503);
      return refused.body.error?.includes("refuses connections") && refused.headers.get("retry-after") === "30";
    });
    await eventually(async () => {
      const { body } = await service.get<{ checks: { name: string; message: string }[] }>("/api/status");
      return body.checks.some(
        ({ name, message }) => name === "database" && message.includes("not currently accepting connections"),
      );
    });
    await waits(logged);
    await database.acceptConnections();
    await succeedsAtOnce(event);
  });

  test("while its comment is on the way", async () => {
    const logged = world.service.logs().length;
    const held = holdComment();
    const event = await open();
    await eventually(() => held.applied === 1);
    await proxy.cut();
    world.tracker.clearFaults();
    await waits(logged);
    await proxy.mend();
    await succeedsAtOnce(event);
  });

  test("while the disk is full, with fewer and fewer tries", async () => {
    const logged = world.service.logs().length;
    let event = "";
    await withoutRoom(database, "execution_steps", async (triedAt) => {
      event = await open();
      await waits(logged);
      const tries = await eventually(async () => {
        const all = await triedAt();
        return all.length === 5 && all;
      });
      expect((tries[4] ?? 0) - (tries[3] ?? 0)).toBeGreaterThan(1_500);
    });
    await succeedsAtOnce(event);
  });

  test("when the database stored its last write, and the answer was lost", async () => {
    const logged = world.service.logs().length;
    const loss = proxy.loseAnswers({ when: /"state":"succeeded","agent_id"|"result":"Answer/ });
    const event = await open();
    await eventually(() => loss.lost === 1);
    await waits(logged);
    await proxy.mend();
    await succeedsAtOnce(event);
  });
});

test("while the database is unavailable, the console keeps its sessions and shows the status", {
  tags: ["postgres"],
  timeout: 120_000,
}, async () => {
  const key = "a-key-for-everything";
  const database = await freshDatabase("migrated");
  const proxy = await startUrlProxy(database.url);
  const service = await startService({ databaseUrl: proxy.url, apiKey: key, env: { API_KEYS: key } });
  try {
    const path = `${service.url}/console/session`;
    const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    const login = await fetch(path, { method: "POST", headers, body: JSON.stringify({ key }) });
    expect(login.status).toBe(200);
    const [cookie = ""] = (login.headers.get("set-cookie") ?? "").split(";");
    const ask = async (url: string, session = cookie) => {
      const response = await fetch(url, { headers: { cookie: session } });
      return { status: response.status, state: ((await response.json()) as { state?: string }).state };
    };
    expect(await ask(path)).toEqual({ status: 200, state: "logged_in" });
    expect(await ask(path, "signalbox_session=another")).toEqual({ status: 200, state: "login_needed" });
    await proxy.cut();
    expect(await ask(path)).toEqual({ status: 200, state: "logged_in" });
    expect((await ask(`${service.url}/api/status`)).status).toBe(200);
    expect(await ask(path, "signalbox_session=another")).toEqual({ status: 503, state: undefined });
    const end = await fetch(path, { method: "DELETE", headers: { cookie, "sec-fetch-site": "same-origin" } });
    expect(end.status).toBe(503);
  } finally {
    await proxy.mend({ held: "reset" });
    await service.close();
    await proxy.close();
    await database.drop();
  }
});
