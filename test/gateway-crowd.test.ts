import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { issueOpened } from "./harness/alpha-payloads.ts";
import { databases, type FreshDatabase, freshDatabase } from "./harness/databases.ts";
import { root, run } from "./harness/process.ts";
import type { Service } from "./harness/service.ts";
import { eventually } from "./harness/wait.ts";
import { startWorld, textsOf } from "./harness/world.ts";

const repo = "octo/app";
const tasks = 2_000;
const agents = Array.from({ length: 200 }, (_, i) => `agent_${i}`);
/** Each of these dies with its process: a tenth of the agents. */
const doomed = [0, 1, 2, 3].map((group) => agents.slice(group * 5, group * 5 + 5));

test.runIf(databases().includes("postgres"))(
  "200 connected agents, 2,000 tasks, a tenth of the agents killed: every task is completed once, no comment is there twice",
  async () => {
    await using database = await freshDatabase();
    if (!database) throw new Error("no database");
    const env = { RATE_LIMIT_PRIVILEGED: "1000000", EXECUTION_LEASE_SECONDS: "10" };
    await using world = await startWorld({ databaseUrl: database.url, tasks: [], env });
    const { service, tracker } = world;
    let t = Date.now();
    const lap = (what: string) => { console.log(what, Date.now() - t); t = Date.now(); };
    await prepare(service);
    lap("prepare");
    const crowd = (delay: number, ids: readonly string[]) =>
      run("node", "test/harness/crowd.ts", {
        args: [`http://127.0.0.1:${service.grpcPort}`, String(delay), ...ids],
        ...{ cwd: root, env: {} },
      });
    // Those that die are slow, so that they die over a task.
    const dying = doomed.map((ids) => crowd(20_000, ids));
    const staying = crowd(20, agents.slice(20));
    const total = async (query: string) =>
      Number((await service.get(`/api/task-executions?limit=1${query}`)).headers.get("x-total-count"));
    try {
      await eventually(async () => (await count(database, "agent_streams")) === agents.length, { timeout: 60_000 });
      lap("connected");
      const sending = send(service).then(() => lap("sent"));
      for (const [i, program] of dying.entries()) {
        await eventually(async () => (await total("&state=succeeded")) >= ((i + 1) * tasks) / 8, {
          timeout: 60_000,
          interval: 100,
        });
        await sleep(Math.random() * 500);
        program.signal("SIGKILL");
      }
      lap("killed");
      await sending;
      await eventually(async () => (await total("&state=succeeded")) === tasks, { timeout: 90_000, interval: 250 });
      lap("done");
      expect(await total("")).toBe(tasks);
      const texts = Array.from({ length: tasks }, (_, i) => textsOf(tracker, repo, i + 1));
      expect(texts.filter((all) => all.length !== 1)).toEqual([]);
      expect(staying.exit).toBeNull();
      // Agents had most of it, and what the killed ones held was done by somebody else.
      console.log(await database.query("select handovers, attempts, deaths, failures, left(result,12) as r, count(*)::int from task_executions group by 1,2,3,4,5"), dying.map((d) => d.logs()));
      const byAgents = texts.filter(([text]) => /^Answer of agent_\d+$/.test(text ?? ""));
      expect(byAgents.length).toBeGreaterThan(tasks * 0.8);
      expect(await count(database, "task_executions where handovers > 0 and result not like 'Answer of agent%'")).toBeGreaterThan(
        0,
      );
    } finally {
      for (const program of [...dying, staying]) program.signal("SIGKILL");
    }
  },
);

/** 200 agents that share one task: it goes to whoever has the fewest. */
async function prepare(service: Service): Promise<void> {
  const agent = { name: "One of many", role_id: "dev", prompt: "Help.", trust_level: "privileged" };
  const made = await Promise.all(agents.map((id) => service.post("/api/agents", { id, ...agent })));
  made.push(...(await Promise.all(agents.map((id) => service.post(`/api/agents/${id}/capabilities`, { capability: "crowd" })))));
  const task = { id: "crowded", name: "crowded", description: "Help.", actor_id: "agent_0", required_capabilities: ["crowd"] };
  made.push(await service.post("/api/tasks", task));
  made.push(await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "crowded" }));
  expect(made.filter(({ status }) => status !== 201)).toEqual([]);
}

/** An issue for each task, eight at a time. */
async function send(service: Service): Promise<void> {
  let number = 0;
  const one = async () => {
    while (number < tasks) expect((await service.webhook(issueOpened({ repo, number: ++number }))).status).toBe(202);
  };
  await Promise.all(Array.from({ length: 8 }, one));
}

const count = async (database: FreshDatabase, from: string): Promise<number> =>
  Number((await database.query(`select count(*)::int as n from ${from}`))[0]?.n);
