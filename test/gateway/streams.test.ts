import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { connectedAgents, damagePrompt } from "../harness/database-faults.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { type Connected, connectAgent, failureOf, grpcGateway } from "../harness/grpc-agent.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, surroundings, textsOf, type World, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";
const secret = "a secret of the agent";
const agentId = "pm_default";

interface Execution {
  readonly id: string;
  readonly attempts: number;
  readonly error: string | null;
}

/** Longer than a busy machine holds up the heartbeats of these tests. */
const leaseSeconds = 4;

/** Two replicas on one database, with one Redis if there is one. */
describe("connected agents on two replicas", { tags: ["postgres"] }, () => {
  let database: FreshDatabase;
  let world: World;
  let second: Service;
  let open: Connected[] = [];
  const redis = process.env.TEST_REDIS_URL;
  const limits = { RATE_LIMIT_DEFAULT: "5000", RATE_LIMIT_TRUSTED: "5" };
  const env = { ...limits, EXECUTION_LEASE_SECONDS: String(leaseSeconds), ...(redis && { REDIS_URL: redis }) };

  beforeAll(async () => {
    database = await freshDatabase();
    world = await startWorld({ databaseUrl: database.url, tasks: ["outside"], env });
    const { tracker, model } = world;
    second = await startService({ databaseUrl: database.url, webhookSecret, env: { ...surroundings(tracker, model), ...env } });
    expect((await second.put(`/api/agents/${agentId}`, { auth_enabled: true, auth_secret: secret })).status).toBe(200);
  });
  afterEach(async () => {
    for (const one of open) one.close();
    open = [];
    await eventually(async () => (await streams()) === 0);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await second?.close();
    await database?.drop();
  });

  const streams = () => connectedAgents(database);
  const connect = async (service: Service, options: Parameters<typeof connectAgent>[2] & { agent?: string } = {}) => {
    const before = await streams();
    const one = await connectAgent(grpcGateway(service.grpcPort), options.agent ?? agentId, { secret, ...options });
    open.push(one);
    await eventually(async () => (await streams()) > before);
    return one;
  };
  const issue = async (number: number, service = world.service) => {
    const { body } = await service.webhook(issueOpened({ repo, number }));
    return String(body.event_id);
  };
  const complete = ({ gateway, sessionId }: Connected, executionId = "", result = "Done by the agent.") =>
    gateway.completeTask({ sessionId, executionId, result });
  const first = (one: Connected) => eventually(() => one.received[0]?.executionId);
  const comments = (number: number) => textsOf(world.tracker, repo, number);

  test("an event at one replica goes to the agent at the other, which may complete it at either", async () => {
    const agent = await connect(second, { heartbeatMs: 500 });
    const event_id = await issue(101);
    await complete({ ...agent, gateway: grpcGateway(world.service.grpcPort) }, await first(agent));
    expect((await waitForExecutions(second, { event_id }))[0]?.state).toBe("succeeded");
    expect(comments(101)).toEqual(["Done by the agent."]);
  });

  test("a busy agent gets no more tasks than it asked for, and the rest wait for it", async () => {
    const agent = await connect(world.service, { maxInFlight: 2, heartbeatMs: 500 });
    const asked = world.model.chats().length;
    for (const number of [111, 112, 113]) await issue(number);
    await eventually(() => agent.received.length === 2);
    // Longer than an offer and a lease without renewal.
    await sleep(12_000);
    expect(agent.received).toHaveLength(2);
    await complete(agent, agent.received[1]?.executionId);
    await eventually(() => agent.received.length === 3);
    await complete(agent, agent.received[0]?.executionId);
    await complete(agent, agent.received[2]?.executionId);
    await eventually(() => [111, 112, 113].every((number) => comments(number).length === 1));
    expect(world.model.chats()).toHaveLength(asked);
  });

  test("a silent agent loses its task and its stream, and late results are refused", async () => {
    const agent = await connect(world.service);
    const event_id = await issue(121);
    const executionId = await first(agent);
    const [execution] = await waitForExecutions(second, { event_id });
    expect(execution).toMatchObject({ state: "succeeded", result: "Answer of outside" });
    expect(await agent.ended).toMatchObject({ code: Code.Unavailable, rawMessage: expect.stringContaining("Heartbeat") });
    expect((await failureOf(complete(agent, executionId))).code).toBe(Code.NotFound);
    expect(comments(121)).toEqual(["Answer of outside"]);
  });

  test("tasks of a closed stream go to the agent's other stream, on the other replica", async () => {
    const leaving = await connect(world.service, { heartbeatMs: 500 });
    const event_id = await issue(131);
    const executionId = await first(leaving);
    const staying = await connect(second, { heartbeatMs: 500 });
    leaving.close();
    expect(await first(staying)).toBe(executionId);
    await complete(staying, executionId);
    expect((await waitForExecutions(second, { event_id }))[0]).toMatchObject({
      state: "succeeded",
      result: "Done by the agent.",
    });
    expect(comments(131)).toEqual(["Done by the agent."]);
  });

  test("an agent learns at its next heartbeat, and from the answer to its result, that its task was cancelled", async () => {
    const agent = await connect(world.service, { maxInFlight: 2, heartbeatMs: 500 });
    for (const number of [135, 136]) await issue(number);
    const [cancelled = "", kept = ""] = await eventually(
      () => agent.received.length === 2 && agent.received.map(({ executionId }) => executionId),
    );
    const held = async () => (await agent.gateway.heartbeat({ sessionId: agent.sessionId })).executionIds;
    expect((await held()).sort()).toEqual([cancelled, kept].sort());
    expect((await second.post(`/api/task-executions/${cancelled}/cancel`)).status).toBe(200);
    expect(await held()).toEqual([kept]);
    const refused = await failureOf(complete(agent, cancelled));
    expect(refused).toMatchObject({ code: Code.NotFound, rawMessage: expect.stringMatching(/ It was cancelled\.$/) });
    await complete(agent, kept);
    expect(await held()).toEqual([]);
  });

  test("a failed task that may be retried comes back", async () => {
    const agent = await connect(world.service, { heartbeatMs: 500 });
    await issue(141);
    const { gateway, sessionId } = agent;
    await gateway.failTask({ sessionId, executionId: await first(agent), error: "not now", retryable: true });
    await eventually(() => agent.received.length === 2);
    await complete(agent, agent.received[1]?.executionId);
    await eventually(() => comments(141).length === 1);
  });

  test("a task whose stored prompt is damaged fails with a reason, and the others are received", async () => {
    const agent = await connect(world.service, { heartbeatMs: 500 });
    await issue(145);
    const busyWith = await first(agent);
    const [damaged, sound] = [await issue(146), await issue(147)];
    const executionOf = async (event_id: string) =>
      (await world.service.get<Execution[]>(`/api/task-executions?event_id=${event_id}`)).body[0];
    const offered = async (event_id: string) =>
      eventually(async () => ((await executionOf(event_id))?.attempts === 1 ? executionOf(event_id) : undefined));
    await offered(sound);
    await damagePrompt(database, String((await offered(damaged))?.id));
    await complete(agent, busyWith);
    const received = await eventually(() => agent.received[1]?.executionId);
    expect(received).toBe((await executionOf(sound))?.id);
    await complete(agent, received);
    expect((await waitForExecutions(second, { event_id: sound }))[0]?.state).toBe("succeeded");
    await eventually(async () => (await executionOf(damaged))?.error === "Internal error; see the service's log.");
    expect(world.service.logs() + second.logs()).toContain("packed with dictionary 8");
  });

  test("a changed secret ends sessions and open streams on every replica", async () => {
    const agent = await connect(world.service, { heartbeatMs: 500 });
    const event_id = await issue(151);
    const executionId = await first(agent);
    await second.put(`/api/agents/${agentId}`, { auth_secret: "another secret" });
    expect((await failureOf(complete(agent, executionId))).code).toBe(Code.Unauthenticated);
    expect(await agent.ended).toMatchObject({ code: Code.Unauthenticated });
    expect((await waitForExecutions(second, { event_id }))[0]?.result).toBe("Answer of outside");
    await second.put(`/api/agents/${agentId}`, { auth_secret: secret });
    expect((await failureOf(agent.gateway.heartbeat({ sessionId: agent.sessionId }))).code).toBe(Code.Unauthenticated);
  });

  test("an agent that is deleted is disconnected", async () => {
    await second.post("/api/agents", { id: "short_lived", name: "Short-lived", role_id: "dev", prompt: "Help." });
    const agent = await connect(world.service, { agent: "short_lived" });
    expect((await second.del("/api/agents/short_lived")).status).toBe(204);
    expect(await agent.ended).toMatchObject({ code: Code.Unauthenticated });
    expect((await failureOf(agent.gateway.heartbeat({ sessionId: agent.sessionId }))).code).toBe(Code.Unauthenticated);
  });

  test("rate limits are counted over all replicas", async () => {
    await second.post("/api/agents", { id: "limited", name: "L", role_id: "dev", prompt: "Help.", trust_level: "trusted" });
    const gateways = [world.service, second].map(({ grpcPort }) => grpcGateway(grpcPort));
    const { sessionId, requestsPerMinute } = (await gateways[0]?.registerAgent({ agentId: "limited" })) ?? {};
    expect(requestsPerMinute).toBe(5);
    const calls = Array.from({ length: 8 }, (_, i) => gateways[i % 2]?.heartbeat({ sessionId: sessionId ?? "" }));
    const failed = (await Promise.allSettled(calls)).filter(({ status }) => status === "rejected");
    expect(failed).toHaveLength(3);
    for (const { reason } of failed as PromiseRejectedResult[]) {
      expect(reason.code).toBe(Code.ResourceExhausted);
      expect(Number(reason.metadata.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("after ten wrong secrets at both replicas, wrong ones are slowed down and the right one passes", async () => {
    const body = { id: "guessed", name: "G", role_id: "dev", prompt: "Help.", auth_enabled: true, auth_secret: "the right one" };
    await second.post("/api/agents", body);
    const gateways = [world.service, second].map(({ grpcPort }) => grpcGateway(grpcPort));
    const register = (i: number, given: string) =>
      gateways[i % 2]?.registerAgent({ agentId: "guessed", secret: given }) as Promise<{ sessionId: string }>;
    const guess = (i: number) => failureOf(register(i, `wrong secret ${i}`));
    const failures = await Promise.all(Array.from({ length: 20 }, (_, i) => guess(i)));
    // Each replica may be checking one more while the tenth is counted.
    expect(failures.filter(({ code }) => code === Code.Unauthenticated).length).toBeOneOf([10, 11]);
    const refused = failures.filter(({ code }) => code === Code.ResourceExhausted);
    expect(refused.length).toBeOneOf([9, 10]);
    for (const { metadata } of refused) expect(Number(metadata.get("retry-after"))).toBeGreaterThan(600);
    for (const i of [0, 1]) expect((await register(i, "the right one")).sessionId).toMatch(/^[\w-]{40,}$/);
  });

  test("a replica that stops, or is killed, gives its agents' tasks to the other", async () => {
    const stopping = await connect(second, { heartbeatMs: 500 });
    await issue(161);
    await first(stopping);
    // Fewer slots than tasks, so that some tasks go to the other replica.
    const staying = await connect(world.service, { maxInFlight: 2, heartbeatMs: 500 });
    expect((await second.stop()).code).toBe(0);
    expect((await stopping.ended)?.code).toBe(Code.Unavailable);
    await complete(staying, await first(staying));
    await second.restart();
    const killed = await connect(second, { heartbeatMs: 500 });
    // The tasks of the killed replica are queued again when their leases end.
    const numbers = [171, 172, 173, 174];
    for (const number of numbers) await issue(number);
    await eventually(() => killed.received.length > 0);
    await second.kill();
    const done = new Set<string>(staying.received.slice(0, 1).map(({ executionId }) => executionId));
    await eventually(
      async () => {
        for (const { executionId } of staying.received) {
          if (done.has(executionId)) continue;
          await complete(staying, executionId);
          done.add(executionId);
        }
        return numbers.every((number) => comments(number).length === 1);
      },
      { timeout: 60_000 },
    );
    // Until a lease that a killed process left would have ended.
    await sleep((leaseSeconds + 0.5) * 1_000);
    expect([161, ...numbers].map(comments)).toEqual(Array.from({ length: 5 }, () => ["Done by the agent."]));
    await second.restart();
  });
});
