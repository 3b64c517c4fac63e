import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { connectedAgents, handedOver } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { root, run } from "../harness/process.ts";
import type { Service } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

const repo = "octo/app";
const issues = 50;
/** Agents with one task each, which every issue fires, and five connected programs. */
const agents = Array.from({ length: 40 }, (_, i) => `agent_${i}`);
const connections = Array.from({ length: 5 }, () => agents).flat();
const total = issues * agents.length;
/** Programs of five connections. When one dies, all of its connections end: together a tenth of them. */
const dying = [0, 5, 10, 15].map((first) => connections.slice(first, first + 5));

test("200 connected agents, 2,000 tasks, a tenth of the agents killed: every task is completed once, with one comment", {
  // Its waits end when nothing succeeds any more, so this only ends a test that hangs.
  timeout: 600_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  const env = { RATE_LIMIT_PRIVILEGED: "1000000", EXECUTION_LEASE_SECONDS: "20" };
  await using world = await startWorld({ databaseUrl: database.url, tasks: [], env });
  const { service, tracker } = world;
  await prepare(service);
  const crowd = (delay: number, ids: readonly string[]) =>
    run("node", "test/harness/crowd.ts", {
      args: [`http://127.0.0.1:${service.grpcPort}`, String(delay), ...ids],
      cwd: root,
      env: {},
    });
  // So slow that they die during a task.
  const slow = dying.map((ids) => crowd(60_000, ids));
  const quick = crowd(10, connections.slice(20));
  const executions = async (query = "") =>
    Number((await service.get(`/api/task-executions?limit=1${query}`)).headers.get("x-total-count"));
  const succeeded = () => executions("&state=succeeded");
  /** However long that takes: on a slow machine, minutes. */
  const untilSucceeded = async (count: number) => {
    for (let before = await succeeded(); before < count; )
      before = await eventually(
        async () => {
          const now = await succeeded();
          return now > before && now;
        },
        { timeout: 60_000, interval: 100 },
      );
  };
  try {
    await eventually(async () => (await connectedAgents(database)) === connections.length, { timeout: 120_000 });
    for (let number = 1; number <= issues; number++)
      expect((await service.webhook(issueOpened({ repo, number }))).status).toBe(202);
    for (const [i, program] of slow.entries()) {
      const part = (total / 20) * (i + Math.random());
      await untilSucceeded(part);
      program.signal("SIGKILL");
    }
    await untilSucceeded(total);
    expect(await executions()).toBe(total);

    const texts = Array.from({ length: issues }, (_, i) => textsOf(tracker, repo, i + 1));
    const tasks = texts.map((all) => all.map((text) => /(?:Done:|Answer of) (\S+)$/.exec(text)?.[1]));
    expect(tasks).toEqual(texts.map(() => agents.map((id) => `task_of_${id}`).sort()));
    // The tasks of the killed ones were completed by others, nearly all of them by agents.
    expect(await handedOver(database)).toBeGreaterThan(0);
    expect(texts.flat().filter((text) => text.startsWith("Done:")).length).toBeGreaterThan(total * 0.95);
    expect(quick.exit).toBeNull();
  } finally {
    for (const program of [...slow, quick]) program.signal("SIGKILL");
  }
});

async function prepare(service: Service): Promise<void> {
  const agent = { name: "One of many", role_id: "dev", prompt: "Help.", trust_level: "privileged" };
  const made = agents.map(async (id) => {
    const task_id = `task_of_${id}`;
    const answers = [
      await service.post("/api/agents", { id, ...agent }),
      await service.post("/api/tasks", { id: task_id, name: task_id, description: "Help.", actor_id: id }),
      await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id }),
    ];
    return answers.map(({ status }) => status);
  });
  expect(new Set((await Promise.all(made)).flat())).toEqual(new Set([201]));
}
