import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Running, root, run } from "../harness/process.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

/** Number of tasks, with kills of the bridge and of the service. More with `CONNECTOR_EVENTS=1000`. */
const events = Number(process.env.CONNECTOR_EVENTS ?? 15);
const secret = "a secret of the bridge";
const repo = "octo/app";
const env = { A2A_URL: "", AGENT_SECRET: secret, HEARTBEAT_SECONDS: "0.5", POLL_SECONDS: "0.1", STATE_FILE: "" };

let world: World;
let folder: string;
let agent: Running;
let bridge: Running;
const startBridge = async () => {
  bridge = run("node", "examples/agent-bridges/a2a.ts", { cwd: root, env: { ...env, SIGNALBOX_URL: world.service.url } });
  // Registered with an open stream; until then, the model runs its tasks.
  const streams = async () => {
    const { body } = await world.service.get<{ agents: { streams: number }[] }>("/api/status");
    if (/registered as/.test(bridge.logs()) && body.agents.some((one) => one.streams > 0)) return true;
    throw new Error(`no stream is open: ${JSON.stringify(body.agents)}\n${bridge.logs()}`);
  };
  await eventually(streams, { timeout: 60_000 });
};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-a2a-"));
  const [port] = await freePorts(1);
  Object.assign(env, { A2A_URL: `http://127.0.0.1:${port}`, STATE_FILE: join(folder, "state") });
  agent = run("node", "examples/agent-bridges/a2a-sample-agent.ts", { cwd: root, env: { PORT: String(port), WORK_MS: "150" } });
  world = await startWorld({ tasks: [], env: { EXECUTION_LEASE_SECONDS: "6", BUDGET_AUTHOR_RUNS_PER_HOUR: "0" } });
  const { service } = world;
  const made = [
    await service.post("/api/agents", {
      id: "a2a_agent",
      name: "A2A",
      role_id: "dev",
      prompt: "Look at the issue.",
      auth_enabled: true,
      auth_secret: secret,
      trust_level: "privileged",
    }),
    await service.post("/api/tasks", { id: "a2a_look", name: "A look", description: "Look.", actor_id: "a2a_agent" }),
    await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "a2a_look" }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  await startBridge();
}, 120_000);
afterAll(async () => {
  for (const program of [bridge, agent]) program?.signal("SIGKILL");
  await world?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test("an issue's task goes to an agent that speaks A2A, and its artifact becomes the comment", { timeout: 120_000 }, async () => {
  const { body } = await world.service.webhook(issueOpened({ repo, number: 1 }));
  const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
  expect(execution).toMatchObject({ agent_id: "a2a_agent", state: "succeeded" });
  expect(textsOf(world.tracker, repo, 1)).toEqual([expect.stringMatching(/^The sample agent was given \d{2,} characters\.$/)]);
  expect(world.model.chats()).toEqual([]);
});

test("a bridge that is killed while the agent works resumes the same task", { timeout: 120_000 }, async () => {
  const before = agent.logs();
  const { body } = await world.service.webhook(issueOpened({ repo, number: 2 }));
  await eventually(() => agent.logs().length > before.length, { timeout: 30_000, interval: 5 });
  await eventually(() => bridge.logs().includes(": A look"), { timeout: 30_000, interval: 5 });
  await new Promise((done) => setTimeout(done, 60));
  bridge.signal("SIGKILL");
  await bridge.ended;
  await startBridge();
  const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
  expect(execution).toMatchObject({ agent_id: "a2a_agent", state: "succeeded" });
  expect(textsOf(world.tracker, repo, 2)).toHaveLength(1);
  expect(
    agent
      .logs()
      .slice(before.length)
      .match(/begins/g),
  ).toHaveLength(1);
});

test("a bridge delivers its result although calls fail: it repeats the call, waits as required, and registers again", {
  timeout: 120_000,
}, async () => {
  const calls: string[] = [];
  const refusals: ("lost" | { status: number; code: string; message?: string; headers?: { "retry-after": string } })[] = [
    "lost",
    { status: 503, code: "unavailable", message: "no database" },
    { status: 429, code: "resource_exhausted", headers: { "retry-after": "1" } },
    { status: 401, code: "unauthenticated", message: "no session" },
  ];
  const task = Buffer.from(JSON.stringify({ executionId: "e1", taskName: "A look", content: "Look at the issue." }));
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, task.byteLength]), task]);
  const gateway = createServer((request, response) => {
    const method = request.url?.split("/").at(-1) ?? "";
    calls.push(method);
    if (method === "ReceiveTasks") return void response.write(envelope);
    if (method !== "CompleteTask") return void response.end(JSON.stringify({ sessionId: "s1" }));
    const answer = refusals[calls.filter((one) => one === method).length - 1];
    if (answer === "lost") return void response.destroy();
    response.writeHead(answer?.status ?? 200, answer?.headers).end(JSON.stringify(answer ?? {}));
  });
  const [port] = await freePorts(1);
  await new Promise<void>((done) => gateway.listen(port, "127.0.0.1", done));
  const own = { ...env, SIGNALBOX_URL: `http://127.0.0.1:${port}`, STATE_FILE: join(folder, "limited"), HEARTBEAT_SECONDS: "60" };
  const limited = run("node", "examples/agent-bridges/a2a.ts", { cwd: root, env: own });
  try {
    await eventually(() => calls.length === 9, { timeout: 30_000 });
    const begin = ["RegisterAgent", "ReceiveTasks"];
    expect(calls).toEqual([...begin, ...refusals.map(() => "CompleteTask"), ...begin, "CompleteTask"]);
    expect(limited.logs()).toContain("task e1: A look (its result was not delivered)");
    expect(limited.logs()).toContain("too many calls: retrying in 1 s");
    expect(limited.logs()).toContain("CompleteTask was not answered, retrying: unavailable: no database");
  } finally {
    limited.signal("SIGKILL");
    gateway.closeAllConnections();
    gateway.close();
  }
});

test(`${events} tasks with kills of the bridge and the service: nothing lost, nothing twice`, {
  timeout: 90_000 + events * 1_000,
}, async () => {
  const all = Array.from({ length: events }, (_, at) => at + 3);
  for (const number of all) expect((await world.service.webhook(issueOpened({ repo, number }))).status).toBe(202);
  const answered = () => all.filter((number) => textsOf(world.tracker, repo, number).length > 0).length;
  const timeout = 45_000 + events * 900;
  await eventually(() => answered() >= events / 4, { timeout });
  bridge.signal("SIGKILL");
  await bridge.ended;
  await startBridge();
  await eventually(() => answered() >= events / 2, { timeout });
  await world.service.kill();
  await world.service.restart();
  await eventually(() => answered() === events, { timeout });
  expect(all.filter((number) => textsOf(world.tracker, repo, number).length !== 1)).toEqual([]);
  // While the bridge is not connected, the model runs its tasks.
  const own = all.filter((number) => textsOf(world.tracker, repo, number)[0]?.startsWith("The sample agent"));
  expect(own.length).toBeGreaterThan(0);
});
