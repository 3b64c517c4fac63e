import * as agents from "@signalbox/schema/agents";
import * as mappings from "@signalbox/schema/mappings";
import type { Operation, Output } from "@signalbox/schema/operation";
import * as status from "@signalbox/schema/status";
import * as tasks from "@signalbox/schema/tasks";
import { request, type Service } from "./request.ts";

/** What a running service is configured to do. */
export interface Configured {
  readonly sources: readonly Pick<
    Output<typeof mappings.createSource>,
    "source" | "event_name" | "action" | "canonical_trigger"
  >[];
  readonly triggers: readonly Pick<Output<typeof mappings.createTrigger>, "canonical_trigger" | "task_id">[];
  readonly tasks: readonly Pick<Output<typeof tasks.get>, "id" | "actor_id" | "actor_fallback">[];
  readonly agents: readonly Pick<Output<typeof agents.get>, "id">[];
  readonly checks: readonly Pick<Output<typeof status.get>["checks"][number], "name" | "state" | "message">[];
}

/** What keeps events from being answered, one sentence each, with what to do about it. */
export function problemsOf(found: Configured): string[] {
  const known = { tasks: new Set(found.tasks.map(({ id }) => id)), agents: new Set(found.agents.map(({ id }) => id)) };
  const fired = new Set(found.triggers.map((one) => one.canonical_trigger));
  const idle = Map.groupBy(
    found.sources.filter((one) => !fired.has(one.canonical_trigger)),
    (one) => one.canonical_trigger,
  );
  const eventsOf = (rows: Configured["sources"]) =>
    rows.map(({ source, event_name, action }) => `${source} ${event_name}${action ? `/${action}` : ""}`).join(", ");
  return [
    ...(found.sources.length === 0 ? ["No event is mapped to a trigger. Run: signalbox sources seed"] : []),
    ...[...idle].map(
      ([trigger, rows]) =>
        `The trigger ${trigger} has no task, so ${eventsOf(rows)} runs nothing. Run: signalbox triggers create --canonical-trigger ${trigger} --task-id <task>`,
    ),
    ...found.triggers
      .filter(({ task_id }) => !known.tasks.has(task_id))
      .map((one) => `The trigger ${one.canonical_trigger} is mapped to the task ${one.task_id}, which does not exist.`),
    ...found.tasks
      .filter(({ actor_id, actor_fallback }) => !known.agents.has(actor_id) && !actor_fallback?.trim())
      .map(({ id, actor_id }) => `The task ${id} names the agent ${actor_id}, which does not exist, and has no actor_fallback.`),
    ...found.checks
      .filter(({ state }) => state === "degraded" || state === "failed")
      .map(({ name, message }) => `${name}: ${message}`),
  ];
}

/** Asks a running service for its configuration and prints what is wrong with it. Returns whether nothing is. */
export async function runDoctor(service: Service, out: (text: string) => void): Promise<boolean> {
  const ask = async <T>(op: Operation, input: Record<string, unknown> = {}) =>
    (await request(op, input, service, out)).value as T;
  /** All pages of a list. */
  const all = async <T>(op: Operation): Promise<T[]> => {
    const rows: T[] = [];
    for (;;) {
      const page = await ask<T[]>(op, { limit: 1000, offset: rows.length });
      rows.push(...page);
      if (page.length < 1000) return rows;
    }
  };
  const problems = problemsOf({
    sources: await all(mappings.listSources),
    triggers: await all(mappings.listTriggers),
    tasks: await all(tasks.list),
    agents: await all(agents.list),
    checks: (await ask<Output<typeof status.get>>(status.get)).checks,
  });
  out(problems.length === 0 ? "No problems found.\n" : problems.map((problem) => `- ${problem}\n`).join(""));
  return problems.length === 0;
}
