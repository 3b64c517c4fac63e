import { afterAll, beforeAll, expect } from "vitest";
import { issueCommented, issueEdited } from "./alpha-payloads.ts";
import { type ExecutionSeen, eventually, hourLasts, waitForExecutions } from "./wait.ts";
import { callOf, roundsOf, startWorld, type World } from "./world.ts";

/** Tokens of each model answer. */
export const usage = { prompt_tokens: 60, completion_tokens: 40 };

/** How long the run of an edit waits for further edits, in milliseconds. */
const debounceMs = 1_000;

export interface Seen extends ExecutionSeen {
  readonly held_reason: string | null;
  readonly held_until: string | null;
  readonly waiting_for: string | null;
  readonly reason: string | null;
}

/** The author of an issue, with a standing. */
export const by = (id: number, author_association: string) => ({
  sender: { login: `user-${id}`, id, type: "User" },
  issue: { user: { login: `user-${id}`, id }, author_association },
});

/** A world with separate projects for the tests of a file: budgets, commands and order. */
export function limitedWorld() {
  let world: World;
  let projects = 0;
  beforeAll(async () => {
    world = await startLimited();
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const send = async (payload: object) => {
    const { status, body } = await world.service.webhook(payload);
    expect(status).toBeLessThan(203);
    return body;
  };
  return {
    get world() {
      return world;
    },
    send,
    project: async (policy: object): Promise<string> => {
      await hourLasts();
      const repo = `octo/budget-${++projects}`;
      const made = await world.service.post("/api/projects", { name: repo, source: "alpha", source_project_id: repo, policy });
      expect(made.status).toBe(201);
      return repo;
    },
    only: async (event_id: string, state?: ExecutionSeen["state"]): Promise<Seen> =>
      (await waitForExecutions(world.service, { event_id, ...(state && { state }) }))[0] as Seen,
    /** The execution of an event, once it is held or has succeeded. */
    heldOrSucceeded: (event_id: string): Promise<Seen> =>
      eventually(
        async () => {
          const [one] = (await world.service.get<Seen[]>(`/api/task-executions?event_id=${event_id}`)).body;
          return one && ["held", "succeeded"].includes(one.state) && one;
        },
        { timeout: 30_000 },
      ),
    /** The model answers the next requests about a project's issues with this usage. */
    answerWithUsage: (repo: string, model: string, usage: object | undefined, times = 1) => {
      const choices = [{ message: { content: "Done." }, finish_reason: "stop" }];
      world.model.answerWith({ when: `${repo}#\\d+\\.`, reply: { raw: { model, choices, usage } }, times });
    },
    comment: (repo: string, number: number, text: string) => send(issueCommented({ repo, number, comment: text })),
    /**
     * Sends edits of one issue. If the machine holds one up for so long that the run of the edit before may have begun, sends those
     * of another issue.
     */
    editInARow: async (repo: string, count: number) => {
      for (let number = 1; number <= 10; number++) {
        const events: string[] = [];
        let inTime = true;
        for (let n = 1, before = performance.now(); n <= count; n++) {
          const began = performance.now();
          events.push((await send(issueEdited({ repo, number, title: `Title ${n}` }))).event_id);
          inTime &&= performance.now() - before < debounceMs;
          before = began;
        }
        if (inTime) return { number, events };
      }
      throw new Error("the machine holds up every edit");
    },
    event: async (id: string) => (await world.service.get<{ outcome: string; reason: string }>(`/api/webhook-events/${id}`)).body,
  };
}

async function startLimited(): Promise<World> {
  const world = await startWorld({
    tasks: ["first"],
    env: {
      // A run that loses its lease on a busy machine is charged the usage that it had reserved.
      EXECUTION_LEASE_SECONDS: "10",
      UPDATE_DEBOUNCE_SECONDS: String(debounceMs / 1_000),
      EXECUTION_RETRY_LIMIT: "0",
      // Enough that a crowd has to wait.
      WORKER_CONCURRENCY: "16",
      WATCHDOG_ENABLED: "true",
      MODEL_PRICES: JSON.stringify({ "script*": { input: 1_000, output: 2_000 } }),
    },
    script: (request) => {
      const text = JSON.stringify(request.messages);
      const delayMs = text.includes("slowly") ? 600 : 0;
      if (request.tools?.length && text.includes("keep calling")) return { ...callOf("get_issue", request), usage, delayMs };
      if (request.tools?.length && text.includes("keep writing"))
        return { ...callOf("add_comment", request, { body: `Note ${roundsOf(request)}` }), usage };
      return { content: "Done.", usage };
    },
  });
  const { service } = world;
  const edited = { source: "alpha", event_name: "issues", action: "edited", canonical_trigger: "issue.updated" };
  expect((await service.post("/api/tasks/sources", edited)).status).toBe(201);
  for (const canonical_trigger of ["issue.updated", "issue.closed", "issue.commented", "pr.opened"])
    expect((await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "first" })).status).toBe(201);
  return world;
}
