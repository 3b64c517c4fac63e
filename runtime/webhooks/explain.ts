import type { Input, Output } from "@signalbox/schema/operation";
import type { Policy } from "@signalbox/schema/policy";
import { problem } from "@signalbox/schema/problem";
import { explain } from "@signalbox/schema/tasks";
import type { Json } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Evaluator } from "../platform/evaluator.ts";
import { shortText } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Standings } from "../plugins/standings.ts";
import { hopLimit } from "../policy/author-rules.ts";
import { isBelow } from "../policy/standing.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import { commandIn } from "./command-decision.ts";
import { type Candidate, type DecisionDeps, decisionOf, missingTask } from "./decide.ts";
import { authorKey } from "./ending-queries.ts";
import { instant } from "./event-row.ts";
import { verdictsOf } from "./gate.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import { limitVerdicts } from "./limits.ts";
import type { MappingRule, MappingRules, PathRule } from "./mapping-rules.ts";
import { parseByPath, parseBySource } from "./parse.ts";
import { repliesTo } from "./replies.ts";
import { withProject } from "./with-project.ts";

export interface ExplainDeps extends Pick<DecisionDeps, "routing" | "policies"> {
  readonly loops: Pick<DecisionDeps["loops"], "windowSeconds">;
  /** The top level of the policy. */
  readonly settings: Policy;
  readonly connectionBySlug: (slug: string) => Promise<Connection | undefined> | Connection | undefined;
  readonly accounts: Accounts;
  readonly standings: Standings;
  readonly rules: MappingRules;
  readonly evaluator: Evaluator;
  /** Whether comments may contain commands. */
  readonly hasCommands: boolean;
  readonly log: Log;
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
  const { incoming: received, checks: ofPath } = await readWebhook(input, deps);
  const incoming = await withProject(sql, received, deps);
  const { source, event } = incoming;
  const { discarded, command, refusal } = commandIn(incoming, deps.hasCommands);
  const refused = discarded ?? refusal;
  const accepted = refusal === null ? command : null;
  const mappingResult = await mappingChecks(incoming, deps);
  const named = [...new Set([...(incoming.triggers ?? []), ...mappingResult.triggers])];
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
      ...ofPath,
      ...mappingResult.checks,
      ...(command ? [] : triggerChecks(refused, unmapped, triggers)),
    ],
    tasks,
  };
}

const subjectOf = ({ source, event }: IncomingEvent): string | null => event.subject && subjectKey(source, event.subject);

/** The event, parsed by its source or by the webhook mappings of its path. */
async function readWebhook(
  input: Input<typeof explain>,
  deps: ExplainDeps,
): Promise<{ incoming: IncomingEvent; checks: Check[] }> {
  const { path } = input;
  const slug = path?.replace(/^\/webhook\//, "") ?? input.source;
  const headers = Object.fromEntries(Object.entries(input.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const payload = input.payload as Json;
  const body = Buffer.from(JSON.stringify(payload));
  const origin = { kind: "webhook" } as const;
  const sharedInput = { origin, slug, headers, body, payload };
  const connection = await deps.connectionBySlug(slug);
  if (connection) {
    const request = { headers, payload };
    const parsed = await parseBySource(connection, request, { standings: deps.standings, log: deps.log, last: true });
    const accounts = parsed.event.actor === null ? [] : await deps.accounts.ofSource(parsed.source);
    const replies = repliesTo(parsed.event, connection, { log: deps.log, trackerUpdates: false });
    const rules = deps.rules.rulesFor(parsed.source, parsed.event.event_name, parsed.event.action);
    const matching = rules.length > 0 && { matching: () => deps.rules.matching(rules, body) };
    return { incoming: { ...parsed, ...sharedInput, ...replies, ...matching, accounts }, checks: [] };
  }
  const rules = path === undefined ? deps.rules.byPathOf(input.source) : deps.rules.atPath(path);
  if (rules.length === 0) throw noSuchSource(input);
  const parsed = await parseByPath(rules, body, deps);
  const matching = await deps.rules.matching(rules, body);
  const checks = rules.map((rule) => mappingCheck(rule, matching.includes(rule)));
  return { incoming: { ...parsed, ...sharedInput, accounts: [], viaPath: true }, checks };
}

const noSuchSource = ({ source, path }: Input<typeof explain>) =>
  problem(
    "not_found",
    path === undefined
      ? `There is no source "${source}". GET /api/integrations and the plugins name those that exist; GET /api/webhook-mappings those with their own paths.`
      : `No source or webhook mapping accepts webhooks at ${JSON.stringify(path.slice(0, 100))}.`,
  );

function mappingCheck({ id, jq_filter, canonical_trigger, ...rule }: MappingRule | PathRule, passes: boolean): Check {
  const filter = jq_filter === null ? "it has no filter" : `its filter ${passes ? "matches" : "does not match"}: ${jq_filter}`;
  const place = "parameters" in rule ? "it accepts webhooks at this path, and " : "";
  const trigger = passes && canonical_trigger !== null ? `; trigger ${canonical_trigger}` : "";
  return { check: `webhook_mapping:${id}`, passes, reason: `${place}${filter}${trigger}` };
}

/** Each webhook mapping of the event, with the result of its filter. */
async function mappingChecks({ source, event, body }: IncomingEvent, { rules }: ExplainDeps) {
  const eventRules = rules.rulesFor(source, event.event_name, event.action);
  const matching = eventRules.length > 0 ? await rules.matching(eventRules, body) : [];
  const checks = eventRules.map((rule) => mappingCheck(rule, matching.includes(rule)));
  return { checks, triggers: matching.flatMap(({ canonical_trigger }) => canonical_trigger ?? []) };
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
