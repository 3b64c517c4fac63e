import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import type { DeathPoint } from "../harness/die-at.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { bundledService } from "../harness/process.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { commentingScript, issueOf, plainScript, startWorld, textsOf, type World } from "../harness/world.ts";

// Most of each test is waiting for leases and windows to end.
vi.setConfig({ maxConcurrency: 10 });

const repo = "octo/app";
/** Placeholders for the issue of a test. */
const subject = "(subject)";
const issue = "(issue)";
const scenarios = ["proposal", "approval", "living comment", "final edit"] as const;
type Scenario = (typeof scenarios)[number];

/**
 * A statement, by its text and what its parameters contain in addition to the id of the execution; or a request to the tracker.
 */
interface Point {
  readonly scenario: Scenario;
  readonly at: string;
  readonly sql?: string;
  readonly about?: readonly string[];
  readonly request?: { readonly method: string; readonly path: string };
}
/** The statement that stores steps. */
const steps = "as g \\(id uuid, lease text";
const kindOf = (kind: string, state: string) => [`"kind":"${kind}"`, `"state":"${state}"`];
const comments = { method: "POST", path: `/issues/${issue}/comments` };

const points: readonly Point[] = [
  { scenario: "proposal", at: "the proposal of a tool is stored", sql: steps, about: kindOf("tool", "proposed") },
  { scenario: "proposal", at: "the proposal of the answer is stored", sql: steps, about: kindOf("post", "proposed") },
  { scenario: "approval", at: "the decision is stored", sql: "with decided as" },
  { scenario: "approval", at: "the approved call is stored as started", sql: steps, about: kindOf("tool", "started") },
  { scenario: "approval", at: "the approved call reaches the tracker", request: comments },
  { scenario: "approval", at: "the outcome of the call is stored", sql: steps, about: kindOf("tool", "succeeded") },
  { scenario: "approval", at: "the outcome of the answer is stored", sql: steps, about: kindOf("post", "succeeded") },
  { scenario: "living comment", at: "the run is marked as shown", sql: "set has_sign = true where id" },
  { scenario: "living comment", at: "the comment gets its row", sql: "insert into living_comments", about: [subject] },
  { scenario: "living comment", at: "the row is taken for a write", sql: "^\\s*with free as", about: [subject] },
  { scenario: "living comment", at: "the comment reaches the tracker", request: comments },
  { scenario: "living comment", at: "the write is stored", sql: "^\\s*update living_comments", about: [subject] },
  { scenario: "final edit", at: "the answer is stored as started", sql: steps, about: kindOf("post", "started") },
  { scenario: "final edit", at: "the row is taken for the edit", sql: "^\\s*with free as", about: [subject] },
  { scenario: "final edit", at: "the edit reaches the tracker", request: { method: "PATCH", path: "/issues/comments/" } },
  { scenario: "final edit", at: "the edit is stored", sql: "^\\s*update living_comments", about: [subject] },
  { scenario: "final edit", at: "the end of the run is stored", sql: steps, about: kindOf("post", "succeeded") },
];

/**
 * The points of a scenario share a service, which each death restarts anyway. Each point has its own issue. After a death, the
 * points of the living comment wait until the lease of a sign ends, 30 seconds: each of them has its own service.
 */
const chains = scenarios.flatMap((scenario) => {
  const own = points.filter((point) => point.scenario === scenario);
  const shared = scenario === "living comment" ? own.map((point) => [point]) : [own];
  return shared.map((points) => ({ scenario, points }));
});

describeOnDatabases("kill -9 right before and right after", (database) => {
  // The program that ends the service is loaded by an option of Node.
  describe.concurrent.each(chains)("$scenario", { tags: ["node"] }, ({ scenario, points }) => {
    const isStaged = scenario === "proposal" || scenario === "approval";
    let world: World;
    let answer = () => {};
    let gate = Promise.resolve();
    beforeAll(async () => {
      const script = async (request: ChatRequest, number: number) => {
        await gate;
        return (isStaged ? commentingScript : plainScript)(request, number);
      };
      world = await startWorld({ database, tasks: ["first"], script, env: withDeaths });
      const policy = isStaged ? { staged: true } : { presence: "comment" };
      expect((await world.service.put("/api/agents/pm_default", { policy })).status).toBe(200);
    });
    afterAll(() => world?.[Symbol.asyncDispose]());

    const numbered = points.map((point, at) => ({ ...point, number: 11 + at }));
    test.each(numbered)("$at", { timeout: 480_000, concurrent: false }, async ({ number, ...point }) => {
      const { service, tracker } = world;
      gate = new Promise((done) => (answer = done));
      const earlier = tracker.requests.length;
      // The first steps of a run happen by themselves, even if the test is not ready.
      const death = deathsOf(world, point, number);
      if (scenario === "living comment") death.arm("before");
      const event_id = (await service.webhook(issueOpened({ repo, number }))).body.event_id;
      const running = async () =>
        String((await waitForExecutions(service, { event_id, state: "running", timeout: 60_000 }))[0]?.id);
      let id = scenario === "living comment" ? "" : await running();
      const approve = () => service.post(`/api/task-executions/${id}/approve`, {}).catch(() => null);
      const stateOf = async () => (await service.get<{ state: string }>(`/api/task-executions/${id}`)).body.state;
      const texts = () => textsOf(tracker, repo, number);

      if (scenario === "approval") {
        answer();
        await waitForExecutions(service, { event_id, state: "waiting" });
      }
      if (scenario === "final edit") await eventually(() => texts().length === 1, { timeout: 30_000 });
      if (id) death.arm("before", id);
      if (scenario === "approval") void approve();
      else if (scenario !== "living comment") answer();
      for (const then of ["after", null] as const) {
        await death.happened();
        if (then) death.arm(then, id);
        else death.disarm();
        // It may die again before it is ready.
        await service.restart().catch((error) => {
          if (then === null) throw error;
        });
        // A client without a response sends the request again.
        if (then && scenario === "approval") void approve();
      }

      id ||= await running();
      if (scenario === "proposal") {
        await waitForExecutions(service, { event_id, state: "waiting", timeout: 60_000 });
        expect(texts()).toEqual([]);
      }
      if (isStaged) await approve();
      if (scenario === "living comment")
        await eventually(() => expect(texts()).toEqual([expect.stringContaining("is working on this")]) ?? true, {
          timeout: 90_000,
        });
      answer();
      await eventually(async () => expect(await stateOf()).toBe("succeeded") ?? true, { timeout: 90_000 });
      const expected = isStaged ? ["Answer of first", "Note of first"] : ["Answer of first"];
      // On a machine so busy that the tracker responds to nothing for a whole write window, the service posts again. Then the
      // newer comment is removed after another window: see `late-writes.test.ts`.
      await eventually(() => expect(texts()).toEqual(expected) ?? true, { timeout: 60_000 });
      const requests = tracker.requests.slice(earlier);
      const written = (text: string) => sent(requests, text) - death.unapplied(text);
      const total = expected.reduce((sum, text) => sum + written(text), 0);
      expect(total - removed(requests), "comments and edits that were written and not removed").toBe(expected.length);
      for (const text of expected) expect(written(text), `"${text}" was written`).toBeGreaterThan(0);
      // The watchdog reports every removal.
      await eventually(async () => expect(await reported(service)).toBe(removed(tracker.requests)) ?? true);
    });
  });

  test.concurrent("an execution that kills its worker whenever it runs fails; other work continues", {
    timeout: 480_000,
  }, async () => {
    let begun = 0;
    const script = (request: ChatRequest, number: number) => {
      if (issueOf(request) !== `${repo}#13`) return plainScript(request, number);
      begun++;
      return { hang: true };
    };
    // On a busy machine, a short lease could expire although its worker is alive.
    const env = { EXECUTION_LEASE_SECONDS: "600" };
    await using world = await startWorld({ database, tasks: ["first"], script, env });
    const { service, tracker } = world;
    const open = async (number: number) => (await service.webhook(issueOpened({ repo, number }))).body.event_id;
    const event_id = await open(13);
    for (const death of [1, 2, 3, 4, 5]) {
      await eventually(() => begun === death, { timeout: 120_000 });
      await service.kill();
      await service.restart();
      const [other] = await waitForExecutions(service, { event_id: await open(death), timeout: 60_000 });
      expect(other).toMatchObject({ state: "succeeded" });
    }
    const [execution] = await waitForExecutions(service, { event_id, timeout: 120_000 });
    expect(execution).toMatchObject({ state: "failed", error: "Its worker crashed 5 times in a row while running it." });
    expect(begun).toBe(5);
    expect(textsOf(tracker, repo, 13)).toEqual([]);
  });
});

const preload = join(bundledService, "die-at.js");
/** The service finds the file in its working folder. */
const withDeaths = { NODE_OPTIONS: `--import ${preload}`, DIE_AT: "die-at.json", WATCHDOG_ENABLED: "true" };

type Requests = World["tracker"]["requests"];

/** Requests that would have written a text. */
const sent = (requests: Requests, text: string): number =>
  requests.filter(({ method, body }) => /POST|PATCH/.test(method) && JSON.stringify(body ?? "").includes(text)).length;

/** Comments that the service has removed because they existed twice. */
const removed = (requests: Requests): number =>
  requests.filter(({ method, path, status }) => method === "DELETE" && /\/comments\/\d+$/.test(path) && status === 204).length;

/** Comments whose removal the watchdog reports. */
async function reported(service: World["service"]): Promise<number> {
  const search = encodeURIComponent("the newer one was removed");
  const { body } = await service.get<{ context: { duplicates: unknown[] } }[]>(`/api/watchdog?search=${search}`);
  return body.reduce((total, { context }) => total + context.duplicates.length, 0);
}

/** The request that a rule left without a response. Until it is looked up, the service may have sent others, such as reactions. */
const unanswered = (requests: Requests, rule: { readonly method?: string; readonly path?: string }) =>
  requests.findLast((sent) => sent.status === null && sent.method === rule.method && sent.path.includes(String(rule.path)));

/** Makes the service die at a point of the run on an issue. */
function deathsOf(world: World, { sql, about: named = [], request: given }: Omit<Point, "scenario">, number: number) {
  const about = named.map((part) => part.replace(subject, `alpha:${repo}#${number}`));
  const request = given && { ...given, path: given.path.replace(issue, String(number)) };
  const { service, tracker } = world;
  const file = join(service.folder, withDeaths.DIE_AT);
  let fault: ReturnType<typeof tracker.fault> | null = null;
  const isAlive = () => {
    try {
      return process.kill(service.pid, 0);
    } catch {
      return false;
    }
  };
  let lost: readonly string[] = [];
  return {
    /** Without an id, the statement of any execution. */
    arm: (when: DeathPoint["when"], id = "") => {
      if (request) fault = tracker.fault({ ...request, after: when === "after", how: "hang" });
      else {
        const parameters = id && !named.includes(subject) ? [id, ...about] : about;
        writeFileSync(file, JSON.stringify({ when, sql: String(sql), about: parameters }));
      }
    },
    disarm: () => {
      tracker.clearFaults();
      rmSync(file, { force: true });
    },
    happened: async () => {
      if (!fault) return eventually(() => !isAlive(), { timeout: 90_000 });
      const armed = fault;
      await eventually(() => armed.applied === 1, { timeout: 90_000 });
      if (!armed.rule.after) lost = [...lost, JSON.stringify(unanswered(tracker.requests, armed.rule)?.body ?? "")];
      await service.kill();
    },
    /** Requests with a text that the tracker did not carry out. */
    unapplied: (text: string) => lost.filter((body) => body.includes(text)).length,
  };
}
