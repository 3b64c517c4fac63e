import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { damagePrompt, withDeaths, withoutRoom, withUnreadableText } from "../harness/database-faults.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { startUrlProxy, type TcpProxy } from "../harness/tcp-proxy.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
/** How long an outage lasts in these tests: longer than any wait between two tries. */
const outageMs = Number(process.env.TEST_OUTAGE_MS ?? 3_000);

// The embedded database becomes unavailable only with the process.
describe("between the service and PostgreSQL", { tags: ["postgres"] }, () => {
  let database: FreshDatabase;
  let proxy: TcpProxy & { readonly url: string };
  let world: World;
  let number = 0;
  beforeAll(async () => {
    database = await freshDatabase("migrated");
    proxy = await startUrlProxy(database.url);
    world = await startWorld({ databaseUrl: proxy.url, tasks: ["only"], env: { EXECUTION_LEASE_SECONDS: "2" } });
  });
  afterAll(async () => {
    await proxy.mend({ held: "reset" });
    await world[Symbol.asyncDispose]();
    await proxy.close();
    await database.drop();
  });

  const webhook = () => {
    number++;
    return world.service.webhook(issueOpened({ repo, number }), { delivery: `d-${number}` });
  };
  const health = async () => (await world.service.get("/health")).status;
  /** The webhook is answered, and its comment is posted. */
  const served = async () => {
    const { status, body } = await webhook();
    expect(status).toBe(202);
    const own = number;
    await waitForExecutions(world.service, { event_id: body.event_id });
    await eventually(() => textsOf(world.tracker, repo, own).length === 1);
  };
  const passed = (ms: number) => new Promise((done) => setTimeout(done, ms));

  test("a reset of all connections costs at most the requests under way", async () => {
    proxy.reset();
    await eventually(async () => (await webhook()).status === 202, { timeout: 2_000 });
    await served();
  });

  test("a full disk: webhooks are answered 503, the status says what to do, and work continues when there is room", async () => {
    await withoutRoom(database, "webhook_events", async () => {
      const refused = await webhook();
      expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("cannot store data") } });
      expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
      // Requests that only read are still answered.
      expect(await health()).toBe(200);
      const found = await eventually(
        async () => {
          const { body } = await world.service.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
          return body.checks.find(({ name, state }) => name === "database" && state === "failed");
        },
        { interval: 200 },
      );
      expect(found.message).toMatch(/No space left on device.*Free disk space/);
    });
    await served();
    const state = async () => {
      const { body } = await world.service.get<{ checks: { name: string; state: string }[] }>("/api/status");
      return body.checks.find(({ name }) => name === "database")?.state;
    };
    // The next check of the database, which is made every five seconds.
    await eventually(async () => (await state()) === "ok" || null, { interval: 200 });
  });

  test("after an outage webhooks are answered within two seconds", async () => {
    // Longer than the lease of an execution that runs meanwhile.
    const before = world.model.chats().length;
    world.model.answerWith({ reply: { content: "Thought through an outage.", delayMs: outageMs / 2 } });
    const running = await webhook();
    const runningNumber = number;
    await eventually(() => world.model.chats().length > before);
    await proxy.cut();
    const ended = passed(outageMs);
    const refused = await webhook();
    expect(refused).toMatchObject({ status: 503, body: { error: expect.stringContaining("database") } });
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await health()).toBe(503);
    await ended;
    await proxy.mend();
    await eventually(async () => (await webhook()).status === 202, { timeout: 2_000 });
    await served();
    await waitForExecutions(world.service, { event_id: running.body.event_id });
    expect(textsOf(world.tracker, repo, runningNumber)).toHaveLength(1);
    // A live worker has not crashed: if its lease expired, the death that another counted is taken back.
    await eventually(async () => (await withDeaths(database)) === 0);
  });

  test("a database that stops answering is detected: 503 within ten seconds, and answers within two seconds of its return", async () => {
    proxy.freeze();
    const [refused, other, unhealthy] = await Promise.all([webhook(), world.service.get("/api/tasks"), health()]);
    expect([refused.status, other.status, unhealthy]).toEqual([503, 503, 503]);
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    await proxy.mend({ held: "reset" });
    await eventually(async () => (await webhook()).status === 202, { timeout: 2_000 });
    await served();
  });

  test("a lost answer delays only its own group of webhooks, which is stored once", async () => {
    const loss = proxy.loseAnswers({ when: new RegExp(`"delivery_id":"d-${number + 1}"`) });
    const lost = webhook();
    const lostNumber = number;
    await eventually(() => loss.lost === 1, { interval: 5 });
    const others = await Promise.all(Array.from({ length: 9 }, webhook));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 202));
    expect((await lost).status).toBe(503);
    await proxy.mend();
    const again = await world.service.webhook(issueOpened({ repo, number: lostNumber }), { delivery: `d-${lostNumber}` });
    expect(again.body.status).toBe("duplicate");
    await waitForExecutions(world.service, { event_id: again.body.event_id });
    expect(textsOf(world.tracker, repo, lostNumber)).toHaveLength(1);
  });

  test("an execution whose stored text or prompt cannot be read fails with a reason and without a crash, and others run", async () => {
    const errorOf = async (event_id: string | undefined) => {
      const { body } = await world.service.get<{ error: string | null }[]>(`/api/task-executions?event_id=${event_id}`);
      return body[0]?.error ?? "";
    };
    await withUnreadableText(database, number + 1, async () => {
      const { body } = await webhook();
      await served();
      await eventually(async () => (await errorOf(body.event_id)).includes("cannot be unpacked"));
      expect(await errorOf(body.event_id)).toBe(
        "Its stored text cannot be unpacked: The text is packed with dictionary 8, which this release does not have. Run the release that stored it.",
      );
    });
    world.model.fault({ path: "chat", how: "status", status: 400, times: 1 });
    const { body } = await webhook();
    const [failed] = await waitForExecutions(world.service, { event_id: body.event_id, state: "failed" });
    await damagePrompt(database, failed?.id as string);
    expect((await world.service.post(`/api/tasks/${failed?.id}/restart`)).status).toBe(200);
    await eventually(async () => (await errorOf(body.event_id)) === "Internal error; see the service's log.");
    await served();
    expect(world.service.logs()).toContain("packed with dictionary 8");
    await eventually(async () => (await withDeaths(database)) === 0);
  });

  test("a slow network is no outage", async () => {
    proxy.delay(150);
    expect((await webhook()).status).toBe(202);
    await proxy.mend();
    expect(world.service.logs()).not.toContain("unhandled");
  });

  test("a start waits for the database, and survives connection resets", async () => {
    // A proxy of its own, because the other service connects again, too.
    await using own = await startUrlProxy(database.url);
    await own.cut();
    const [port, grpcPort] = await freePorts(2);
    const env = { DATABASE_URL: own.url, PORT: String(port), GRPC_PORT: String(grpcPort) };
    const starting = run(runtimeUnderTest(), "runtime/main.ts", { env, cwd: world.service.folder });
    const heard = (text: string) => eventually(() => starting.logs().includes(text), { timeout: 60_000 });
    await heard("waiting for the database");
    const before = own.accepted;
    await own.mend();
    await eventually(() => own.accepted > before + 2, { interval: 1 });
    own.reset();
    await heard("listens on");
    expect(starting.exit).toBeNull();
    starting.signal("SIGTERM");
    expect(await starting.ended).toMatchObject({ code: 0 });
  });

  test("DATABASE_WAIT_SECONDS counts from the loss of the database, not from the start of the process", async () => {
    const [port, grpcPort] = await freePorts(2);
    const ports = { PORT: String(port), GRPC_PORT: String(grpcPort) };
    await using own = await startUrlProxy(database.url);
    // A start sends so many statements that it takes longer than DATABASE_WAIT_SECONDS.
    own.delay(400);
    const env = { ...ports, DATABASE_URL: own.url, DATABASE_WAIT_SECONDS: "3" };
    const starting = run(runtimeUnderTest(), "runtime/main.ts", { env, cwd: world.service.folder });
    await eventually(() => own.accepted > 0 || starting.exit, { timeout: 60_000 });
    await passed(4_000);
    own.reset();
    own.delay(0);
    await eventually(() => starting.exit !== null || starting.logs().includes("listens on"), { timeout: 60_000 });
    expect(starting.logs()).toMatch(/waiting for the database[\s\S]*listens on/);
    starting.signal("SIGTERM");
    expect(await starting.ended).toMatchObject({ code: 0 });
  });

  test("a start fails after DATABASE_WAIT_SECONDS", async () => {
    const ports = { PORT: "0", GRPC_PORT: "0" };
    const env = { ...ports, DATABASE_URL: "postgres://user:hunter2@127.0.0.1:9/none", DATABASE_WAIT_SECONDS: "1" };
    const starting = run(runtimeUnderTest(), "runtime/main.ts", { env, cwd: world.service.folder });
    expect(await starting.ended).toMatchObject({ code: 1 });
    expect(starting.logs()).toMatch(
      /waiting for the database[\s\S]*\nDATABASE_URL: the database does not answer: .*ECONNREFUSED/,
    );
    // It tries several times a second.
    expect(starting.logs().match(/waiting for the database/g)).toHaveLength(1);
    expect(starting.logs()).not.toContain("hunter2");
  });

  test("SIGTERM ends a start that waits for the database, also in a container, where the kernel does not end it", async () => {
    const ports = { PORT: "0", GRPC_PORT: "0" };
    const env = { ...ports, DATABASE_URL: "postgres://user@127.0.0.1:9/none", DATABASE_WAIT_SECONDS: "120" };
    const starting = run(runtimeUnderTest(), "runtime/main.ts", { env, cwd: world.service.folder });
    await eventually(() => starting.logs().includes("waiting for the database"));
    starting.signal("SIGTERM");
    // It handles the signal: the kernel would have reported the signal instead of a code.
    expect(await starting.ended).toMatchObject({ code: 0, signal: null });
    expect(starting.logs()).toContain("stopping");
  });

  test.each(["cut", "freeze"] as const)("SIGTERM ends it with an execution under way after a %s", async (fault) => {
    const before = world.model.chats().length;
    world.model.answerWith({ reply: { content: "Thought.", delayMs: 1_000 } });
    expect((await webhook()).status).toBe(202);
    await eventually(() => world.model.chats().length > before);
    await proxy[fault]();
    await world.service.stop();
    await proxy.mend({ held: "reset" });
    await world.service.restart();
    await eventually(() => textsOf(world.tracker, repo, number).length === 1, { timeout: 60_000 });
    expect(world.service.logs()).not.toMatch(/unhandled|uncaught/);
  });
});
