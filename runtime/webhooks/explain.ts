import type { Input, Output } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import { explain } from "@signalbox/schema/tasks";
import type { Json } from "@signalbox/sdk";
import type { Log } from "../platform/log.ts";
import { type Bound, handle } from "../platform/operation.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import { type DecisionDeps, gateInput, type Incoming, reasonToDiscard, triggersOf } from "./decide.ts";
import { hopLimit, verdictsOf } from "./gate.ts";
import type { MappingRules } from "./mapping-rules.ts";
import { parseBySource } from "./parse.ts";

export interface ExplainDeps extends Pick<DecisionDeps, "routing" | "policies"> {
  readonly loops: Pick<DecisionDeps["loops"], "windowSeconds">;
  readonly connectionBySlug: (slug: string) => Promise<Connection | undefined> | Connection | undefined;
  readonly accounts: Accounts;
  readonly standings: Standings;
  readonly rules: MappingRules;
  readonly log: Log;
}

type Explanation = Output<typeof explain>;
type Check = Explanation["checks"][number];

export const explainOperation = (deps: ExplainDeps): Bound => handle(explain, (input) => explained(input, deps));

/** What the path of a webhook does, without storing anything: each verdict comes from the function that decides there. */
async function explained(input: Input<typeof explain>, deps: ExplainDeps): Promise<Explanation> {
  const connection = await deps.connectionBySlug(input.source);
  if (!connection)
    throw problem(
      "not_found",
      `There is no source "${input.source}". GET /api/integrations and the plugins name those that exist.`,
    );
  const headers = Object.fromEntries(Object.entries(input.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const payload = input.payload as Json;
  const body = Buffer.from(JSON.stringify(payload));
  const parsed = await parseBySource(connection, { headers, payload }, { standings: deps.standings, log: deps.log, last: true });
  const { event } = parsed;
  const accounts = event.actor === null ? [] : await deps.accounts.ofSource(parsed.source);
  const incoming: Incoming = { ...parsed, slug: input.source, headers, body, payload, accounts };
  const reason = reasonToDiscard(incoming);
  const mapped = await mappingChecks(incoming, deps);
  const { triggers, unmapped } = triggersOf(incoming, reason, mapped.triggers, deps.routing);
  const tasks = triggers.flatMap((canonical_trigger) => tasksOf(incoming, canonical_trigger, deps));
  const refusals = tasks.flatMap(({ checks }) => checks.filter(({ passes }) => !passes).map((check) => check.reason));
  const starts = tasks.some((task) => task.starts);
  const idle = triggers.length > 0 && tasks.length === 0 ? `no task is mapped to the trigger ${triggers.join(", ")}` : null;
  const why = starts ? null : (reason ?? unmapped ?? ([...new Set(refusals)].join("; ") || idle));
  return {
    source: parsed.source,
    event: event.event_name,
    action: event.action,
    subject: event.subject && `${parsed.source}:${event.subject.project}#${event.subject.issue}`,
    author: event.author ?? null,
    outcome: reason === null && unmapped === null && (starts || idle !== null) ? "dispatched" : "discarded",
    reason: why,
    canonical_trigger: triggers[0] ?? null,
    canonical_triggers: [...triggers],
    checks: [
      { check: "event", passes: reason === null, reason: reason ?? "it was parsed, and Signalbox did not cause it" },
      ...mapped.checks,
      ...triggerChecks(reason, unmapped, triggers),
    ],
    tasks,
  };
}

/** Each webhook mapping of the event, with the verdict of its filter. */
async function mappingChecks({ source, event, body }: Incoming, { rules }: ExplainDeps) {
  const concerned = rules.concerning(source, event.event_name, event.action);
  const matching = new Set(concerned.length > 0 ? (await rules.matching(concerned, body)).map(({ id }) => id) : []);
  const checks = concerned.map(({ id, jq_filter, canonical_trigger }): Check => {
    const passes = matching.has(id);
    const filter = jq_filter === null ? "it has no filter" : `its filter ${passes ? "matches" : "does not match"}: ${jq_filter}`;
    return { check: `webhook_mapping:${id}`, passes, reason: `${filter}${passes ? `; trigger ${canonical_trigger}` : ""}` };
  });
  const triggers = concerned.filter(({ id }) => matching.has(id)).flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  return { checks, triggers: [...new Set(triggers)] };
}

function triggerChecks(reason: string | null, unmapped: string | null, triggers: readonly string[]): Check[] {
  if (reason !== null) return [];
  const found = unmapped ?? `the event is mapped to ${triggers.join(", ")}`;
  return [{ check: "source_mapping", passes: unmapped === null, reason: found }];
}

function tasksOf(incoming: Incoming, canonical_trigger: string, { routing, policies, loops }: ExplainDeps): Explanation["tasks"] {
  const { tasks, missing } = routing.tasksOf(canonical_trigger);
  const absent = missing.map((task_id) => ({
    task_id,
    canonical_trigger,
    starts: false,
    checks: [
      { check: "task", passes: false, reason: `the task ${task_id}, to which ${canonical_trigger} is mapped, does not exist` },
    ],
  }));
  const present = tasks.map((mapping) => {
    const input = gateInput(incoming, mapping, policies);
    const { max } = hopLimit(input.policy, incoming.event.author?.kind ?? "unknown", loops.windowSeconds);
    const loop =
      max === 0
        ? "loops are not limited"
        : `held after ${max} events in a row, each within ${loops.windowSeconds} s of a write of Signalbox`;
    const checks = [...verdictsOf(input), { check: "loop", passes: true, reason: loop }];
    return { task_id: mapping.task_id, canonical_trigger, starts: checks.every(({ passes }) => passes), checks };
  });
  return [...present, ...absent];
}
