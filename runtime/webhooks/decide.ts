import { setOf } from "../mappings/defaults.ts";
import type { TaskMapping } from "../mappings/queries.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import type { Report } from "../platform/log.ts";
import { pack } from "../platform/packing/packed.ts";
import { hopLimit } from "../policy/author-rules.ts";
import type { Policies } from "../policy/policies.ts";
import { storedParts } from "../untrusted/text-parts.ts";
import type { Arrival, NewExecution } from "./arrival.ts";
import { rowOf } from "./event-row.ts";
import { type GateInput, refusalOf } from "./gate.ts";
import { hasKnownMarker } from "./identify.ts";
import type { IdentifiedEvent, IncomingEvent } from "./incoming-event.ts";
import type { LoopLimits } from "./loop-queries.ts";
import { isReported, replayOptions } from "./received-webhook.ts";
import type { Routing } from "./routing.ts";

/** Maximum length of the text that an agent reads, in characters. */
const maxContent = 200_000;

export interface DecisionDeps {
  readonly routing: Routing;
  readonly policies: Pick<Policies, "of">;
  readonly loops: LoopLimits;
  /** How long the execution of a snapshot waits for further snapshots, in milliseconds. 0: it does not wait, and each runs. */
  readonly debounceMs: number;
  /** Writes a watchdog warning about a mapping that cannot do what its author meant. */
  readonly warn: Report;
}

const closingEvents: ReadonlySet<string> = new Set(["issue.closed", "pr.closed", "pr.merged"]);

/**
 * Whether the event cancels runs of earlier events on its issue. A close by our own account does not, so that the run that closed
 * the issue can finish.
 */
const closes = ({ event, origin }: IncomingEvent, triggers: readonly string[], reason: string | null): boolean =>
  reason === null &&
  isReported(origin) &&
  event.subject !== null &&
  (event.closes ?? triggers.some((one) => closingEvents.has(one)));

/** Whether an event that is not discarded may cancel runs or start tasks, before its webhook mappings are evaluated. */
export function mayCloseOrStart(incoming: IncomingEvent, { routing }: Pick<DecisionDeps, "routing">): boolean {
  const { triggers } = triggersOf(incoming, null, incoming.triggers ?? [], routing);
  const starts = incoming.matching !== undefined || triggers.some((one) => routing.tasksOf(one).tasks.length > 0);
  return starts || replayOptions(incoming.origin)?.task_id !== undefined || closes(incoming, triggers, null);
}

/** The triggers that webhook mappings name: those of its path, and those of its event whose filter matches. */
export async function namedTriggers({ triggers = [], matching }: IncomingEvent): Promise<readonly string[]> {
  const ofEvent = (await matching?.()) ?? [];
  return [...new Set([...triggers, ...ofEvent.flatMap(({ canonical_trigger }) => canonical_trigger ?? [])])];
}

/** Decides which tasks an event starts, or why it starts none, and warns of mappings to tasks that do not exist. */
export function decide(incoming: IdentifiedEvent, refused: string | null, named: readonly string[], deps: DecisionDeps): Arrival {
  const { event } = incoming;
  const { triggers, mapped, allowed, outcome, reason } = decisionOf(incoming, refused, named, deps);
  for (const { canonical_trigger, missingTasks: missing } of mapped)
    if (missing.length > 0) deps.warn("a trigger is mapped to tasks that do not exist", { canonical_trigger, missing });
  const content = storableText(storedParts(event.text, maxContent));
  return {
    event: rowOf(incoming, triggers, reason, outcome === "discarded"),
    project: event.subject && storableText(event.subject.project),
    issue: event.subject && storableText(event.subject.issue),
    content,
    packedContent: allowed.length > 0 ? pack("prompt", Buffer.from(content))?.toString("base64") : undefined,
    changes: (event.changes ?? []).slice(0, 100).map((line) => storableText(line.slice(0, 500))),
    closes: closes(incoming, triggers, refused),
    // A dry run does not replace a waiting execution.
    delayMs: event.snapshot && !replayOptions(incoming.origin)?.dry_run ? deps.debounceMs : 0,
    executions: allowed.map((mapping) => executionOf(incoming, mapping, deps)),
  };
}

/** A mapping of a trigger to an existing task, with the input of the rules that it must pass. */
export interface Candidate {
  readonly mapping: TaskMapping;
  readonly input: GateInput;
}
interface MappedTrigger {
  readonly canonical_trigger: string;
  readonly candidates: readonly Candidate[];
  readonly missingTasks: readonly string[];
}
interface Decision {
  readonly triggers: readonly string[];
  /** Why the event has no triggers. */
  readonly unmapped: string | null;
  /** The triggers with their tasks; empty if an operator named the task. */
  readonly mapped: readonly MappedTrigger[];
  /** The mappings that start their tasks, one for each task. */
  readonly allowed: readonly TaskMapping[];
  readonly outcome: "dispatched" | "discarded";
  /** Why tasks do not start. */
  readonly reason: string | null;
}

/**
 * The decision about an event without a command, for a webhook and for its explanation. Triggers that webhook mappings name
 * replace the trigger of the source event mapping. `refused`: why it starts nothing, regardless of the mappings.
 */
export function decisionOf(
  incoming: IncomingEvent,
  refused: string | null,
  named: readonly string[],
  { routing, policies }: Pick<DecisionDeps, "routing" | "policies">,
): Decision {
  const { triggers, unmapped } = triggersOf(incoming, refused, named, routing);
  const only = refused === null ? replayOptions(incoming.origin)?.task_id : undefined;
  if (only !== undefined)
    return { triggers, unmapped, mapped: [], allowed: [chosenTask(only, triggers)], outcome: "dispatched", reason: null };
  const mapped = triggers.map((canonical_trigger): MappedTrigger => {
    const { tasks, missingTasks } = routing.tasksOf(canonical_trigger);
    const candidates = tasks.map((mapping) => ({ mapping, input: gateInput(incoming, mapping, policies) }));
    return { canonical_trigger, candidates, missingTasks };
  });
  const { allowed, refusals } = sift(mapped.flatMap(({ candidates }) => candidates));
  const idle = allowed.length === 0 && triggers.length > 0 ? reasonWithoutTasks(mapped) : null;
  const reason = refused ?? unmapped ?? (refusals.join("; ") || idle);
  const isRefused = refused !== null || unmapped !== null || (refusals.length > 0 && allowed.length === 0);
  return { triggers, unmapped, mapped, allowed, outcome: isRefused ? "discarded" : "dispatched", reason };
}

/** The mappings that may start their tasks, without duplicates, and the reasons why the other tasks do not start. */
function sift(candidates: readonly Candidate[]) {
  const allowed = new Map<string, TaskMapping>();
  const refused = new Map<string, string>();
  for (const { mapping, input } of candidates) {
    if (allowed.has(mapping.task_id)) continue;
    const refusal = refusalOf(input);
    if (refusal === null) allowed.set(mapping.task_id, mapping);
    else refused.set(mapping.task_id, refusal);
  }
  const refusals = [...refused].filter(([task]) => !allowed.has(task)).map(([, refusal]) => refusal);
  return { allowed: [...allowed.values()], refusals: [...new Set(refusals)] };
}

/** An execution of a mapping's task, with the limit of hops that applies to it. */
function executionOf(incoming: IncomingEvent, mapping: TaskMapping, { policies, loops }: DecisionDeps): NewExecution {
  const { task_id, canonical_trigger } = mapping;
  const { event, policy, trusted } = gateInput(incoming, mapping, policies);
  const { dry_run = false, agent_id, prompt } = replayOptions(incoming.origin) ?? {};
  const { max, reason } = hopLimit(policy, event.author?.kind ?? "unknown", loops.windowSeconds);
  return {
    id: newId(),
    task_id,
    canonical_trigger,
    max_hops: trusted ? 0 : max,
    loop_reason: trusted || max === 0 ? null : reason,
    ...(dry_run && { dry_run }),
    ...((agent_id ?? prompt) !== undefined && { overrides: { agent_id, prompt } }),
  };
}

/** Why an event with these triggers, to which no existing task is mapped, starts nothing. */
function reasonWithoutTasks(mapped: readonly MappedTrigger[]): string {
  const missing = mapped.flatMap(({ canonical_trigger, missingTasks }) =>
    missingTasks.map((task) => missingTask(task, canonical_trigger)),
  );
  const unused = mapped.filter(({ missingTasks }) => missingTasks.length === 0).map((one) => one.canonical_trigger);
  return [...missing, ...(unused.length > 0 ? [reasonWithoutMapping(unused)] : [])].join("; ");
}

/** Why triggers to which no task is mapped start nothing. Names the seed that would map one. */
function reasonWithoutMapping(triggers: readonly string[]): string {
  const set = triggers.map(setOf).find((one) => one !== null);
  const seed = set ? ` or POST /api/tasks/triggers/seed with {"include": ["${set}"]}` : "";
  return `no task is mapped to the trigger ${triggers.join(", ")}: map one with POST /api/tasks/triggers${seed}`;
}

export const missingTask = (task_id: string, canonical_trigger: string): string =>
  `the task ${task_id}, to which ${canonical_trigger} is mapped, does not exist`;

/** The triggers of an event; `unmapped` says why there are none. */
export function triggersOf(
  { event, source }: Pick<IncomingEvent, "event" | "source">,
  reason: string | null,
  named: readonly string[],
  routing: Routing,
): { triggers: readonly string[]; unmapped: string | null } {
  if (reason !== null) return { triggers: [], unmapped: null };
  if (named.length > 0) return { triggers: named, unmapped: null };
  const mapping = routing.find(source, event.event_name, event.action);
  if (mapping) return { triggers: [mapping.canonical_trigger], unmapped: null };
  const eventName = `${event.event_name || "(unnamed)"}${event.action ? `/${event.action}` : ""}`;
  return { triggers: [], unmapped: `no source event mapping for ${source} ${eventName}` };
}

/** The input of the rules for one mapping of an event. */
const gateInput = (incoming: IncomingEvent, mapping: TaskMapping, policies: Pick<Policies, "of">): GateInput => {
  const { event, source, payload = null, origin } = incoming;
  const project = event.subject && { source, project: event.subject.project };
  const policy = policies.of(mapping.agent_id, project);
  return { event, payload, mapping, policy, trusted: !isReported(origin) };
};

/** An operator named the task, so mappings and their conditions do not apply. */
const chosenTask = (task_id: string, [canonical_trigger = "replay"]: readonly string[]): TaskMapping => ({
  id: 0,
  task_id,
  canonical_trigger,
  conditions: {},
  created_at: "",
  task_exists: true,
  agent_id: null,
});

/** Why an event starts nothing, regardless of the mappings. */
export function reasonToDiscard(incoming: IncomingEvent): string | null {
  const { event, accounts, reason, origin } = incoming;
  if (reason !== undefined) return reason;
  if (event.ignored) return event.ignored;
  if (event.missing_field)
    return `the ${event.missing_field.startsWith("header ") ? "request" : "payload"} is missing ${event.missing_field}`;
  if (event.marked && !hasKnownMarker(incoming)) return "it carries the marker of a comment that Signalbox posted";
  const actor = event.actor?.toLowerCase();
  const account = origin.kind === "own" || actor === undefined ? undefined : accounts.find((one) => one.toLowerCase() === actor);
  return account === undefined ? null : `it was caused by ${account}, the account that Signalbox posts as`;
}
