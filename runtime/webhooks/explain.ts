import type { Input, Output } from "@signalbox/schema/operation";
import type { Policy } from "@signalbox/schema/policy";
import { problem } from "@signalbox/schema/problem";
import { explain } from "@signalbox/schema/tasks";
import type { Json } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { shortText } from "../platform/json.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Connection } from "../plugins/connections.ts";
import { hopLimit } from "../policy/author-rules.ts";
import { isBelow } from "../policy/standing.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import { commandIn } from "./command-decision.ts";
import { type Candidate, type DecisionDeps, decisionOf, missingTask, namedTriggers } from "./decide.ts";
import { authorKey } from "./ending-queries.ts";
import { instant } from "./event-row.ts";
import { verdictsOf } from "./gate.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import { limitVerdicts } from "./limits.ts";
import type { MappingRule, PathRule } from "./mapping-rules.ts";
import { type ParseDeps, parseWebhook } from "./parse.ts";
import type { Entry } from "./received-webhook.ts";
import { withProject } from "./with-project.ts";

export interface ExplainDeps extends Pick<DecisionDeps, "routing" | "policies">, Omit<ParseDeps, "trackerUpdates"> {
  readonly loops: Pick<DecisionDeps["loops"], "windowSeconds">;
  /** The top level of the policy. */
  readonly settings: Policy;
  readonly connectionBySlug: (slug: string) => Promise<Connection | undefined> | Connection | undefined;
  /** Whether comments may contain commands. */
  readonly hasCommands: boolean;
}

type Explanation = Output<typeof explain>;
type Check = Explanation["checks"][number];
type Task = Explanation["tasks"][number];

export const explainOperation = (deps: ExplainDeps): BoundOperation =>
  handle(explain, (input, { sql }) => explainWebhook(input, sql, deps));

/**
 * Follows the path of a webhook without storing anything. Each result comes from the function that handles real webhooks. A command in
 * a comment is not carried out, so the reason does not contain its effect.
 */
async function explainWebhook(input: Input<typeof explain>, sql: Sql, deps: ExplainDeps): Promise<Explanation> {
  const { incoming: received, mappingChecks } = await readWebhook(input, deps);
  const incoming = await withProject(sql, received, deps);
  const { source, event } = incoming;
  const { discarded, command, refusal } = commandIn(incoming, deps.hasCommands);
  const refused = discarded ?? refusal;
  const accepted = refusal === null ? command : null;
  const named = await namedTriggers(incoming);
  const { triggers, unmapped, mapped, allowed, outcome, reason } = decisionOf(incoming, refused, named, deps);
  const found = (accepted ? [] : mapped).flatMap(({ canonical_trigger, candidates, missingTasks }) => [
    ...candidates.map((candidate) => explainTask(candidate, incoming, sql, deps)),
    ...missingTasks.map((task_id): Task => {
      const check = { check: "task", passes: false, reason: missingTask(task_id, canonical_trigger) };
      return { task_id, canonical_trigger, starts: false, checks: [check] };
    }),
  ]);
  const tasks = await Promise.all(found);
  const failed = tasks.flatMap(({ checks }) => checks.filter(({ passes }) => !passes).map((check) => check.reason));
  const idle = allowed.length > 0 ? [...new Set(failed)].join("; ") : reason;
  const why = accepted ? `/${accepted.name} is carried out instead of starting tasks` : idle;
  return {
    source,
    event: event.event_name,
    action: event.action,
    subject: subjectOf(incoming),
    author: event.author ?? null,
    outcome: accepted ? "dispatched" : outcome,
    reason: why === null || tasks.some(({ starts }) => starts) ? null : shortText(why),
    canonical_trigger: triggers[0] ?? null,
    canonical_triggers: [...triggers],
    checks: [
      { check: "event", passes: discarded === null, reason: discarded ?? "it was parsed, and Signalbox did not cause it" },
      ...(command
        ? [{ check: "command", passes: refusal === null, reason: refusal ?? `its author may give /${command.name}` }]
        : []),
      ...mappingChecks,
      ...(command ? [] : triggerChecks(refused, unmapped, triggers)),
    ],
    tasks,
  };
}

const subjectOf = ({ source, event }: IncomingEvent): string | null => event.subject && subjectKey(source, event.subject);

/** The event, and a check for each webhook mapping of its path and of its event. */
async function readWebhook(
  input: Input<typeof explain>,
  deps: ExplainDeps,
): Promise<{ incoming: IncomingEvent; mappingChecks: Check[] }> {
  const entry = await entryOf(input, deps);
  const headers = Object.fromEntries(Object.entries(input.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const payload = input.payload as Json;
  const body = Buffer.from(JSON.stringify(payload));
  const parsed = await parseWebhook(entry, { headers, payload, body }, true, { ...deps, trackerUpdates: false });
  const { matchingAtPath = [], source, event } = parsed;
  const atPath = entry.kind === "path" ? entry.rules : [];
  const ofEvent = deps.rules.rulesFor(source, event.event_name, event.action);
  const matchingEvent = await deps.rules.matching(ofEvent, body);
  return {
    incoming: {
      ...parsed,
      origin: { kind: "webhook" },
      slug: entry.slug,
      headers,
      body,
      payload,
      ...(ofEvent.length > 0 && { matching: async () => matchingEvent }),
    },
    mappingChecks: [
      ...atPath.map((rule) => mappingCheck(rule, matchingAtPath.includes(rule))),
      ...ofEvent.map((rule) => mappingCheck(rule, matchingEvent.includes(rule))),
    ],
  };
}

/** The target of the path; without a path, the source itself or its mappings by path. */
async function entryOf({ source, path }: Input<typeof explain>, { connectionBySlug, rules }: ExplainDeps): Promise<Entry> {
  const slug = path?.replace(/^\/webhook\//, "") ?? source;
  const connection = await connectionBySlug(slug);
  if (connection) return { kind: "connection", slug, connection };
  const atPath = path === undefined ? rules.byPathOf(source) : rules.atPath(path);
  if (atPath.length === 0)
    throw problem(
      "not_found",
      path === undefined
        ? `There is no source "${source}": no running plugin provides it, and no webhook mapping with a path_pattern names it (GET /api/webhook-mappings).`
        : `No source or webhook mapping accepts webhooks at ${JSON.stringify(path.slice(0, 100))}.`,
    );
  return { kind: "path", slug, rules: atPath };
}

function mappingCheck({ id, jq_filter, canonical_trigger, ...rule }: MappingRule | PathRule, passes: boolean): Check {
  const filter = jq_filter === null ? "it has no filter" : `its filter ${passes ? "matches" : "does not match"}: ${jq_filter}`;
  const place = "parameters" in rule ? "it accepts webhooks at this path, and " : "";
  const trigger = passes && canonical_trigger !== null ? `; trigger ${canonical_trigger}` : "";
  return { check: `webhook_mapping:${id}`, passes, reason: `${place}${filter}${trigger}` };
}

function triggerChecks(refused: string | null, unmapped: string | null, triggers: readonly string[]): Check[] {
  if (refused !== null) return [];
  const found = unmapped ?? `the event is mapped to ${triggers.join(", ")}`;
  return [{ check: "source_mapping", passes: unmapped === null, reason: found }];
}

/** A task with the result of each rule about who and what may start it, and of each limit that would hold or delay it. */
async function explainTask({ mapping, input }: Candidate, incoming: IncomingEvent, sql: Sql, deps: ExplainDeps): Promise<Task> {
  const { task_id, canonical_trigger, agent_id } = mapping;
  const { source, event } = incoming;
  const { subject, author = null } = event;
  const { windowSeconds } = deps.loops;
  const isStranger = author !== null && isBelow(author.standing, "collaborator");
  const limited = {
    source,
    agentId: agent_id,
    subject: subjectOf(incoming),
    project: subject?.project ?? null,
    author: isStranger ? authorKey({ source, author, actor: null }) : null,
    occurredAt: instant(event.occurred_at),
  };
  const hops = hopLimit(input.policy, author?.kind ?? "unknown", windowSeconds);
  const limits = await limitVerdicts(sql, limited, { settings: deps.settings, windowSeconds, hops });
  const checks = [...verdictsOf(input), ...limits];
  return { task_id, canonical_trigger, starts: checks.every(({ passes }) => passes), checks };
}
