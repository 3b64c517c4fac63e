import type { EffectivePolicy, RequiredStanding } from "@signalbox/schema/policy";
import type { EventAuthor, Json, SourceEvent } from "@signalbox/sdk";
import type { TaskMapping } from "../mappings/queries.ts";
import { limitName } from "../policy/settings.ts";
import { authorName, standingRefusal } from "../policy/standing.ts";
import { labelsIn } from "./conditions.ts";
import { isMentioned } from "./mentioned.ts";

/** The result of one rule about one task of an event, in words. */
interface Verdict {
  readonly check:
    | "bots"
    | "min_standing"
    | "condition.min_standing"
    | "condition.mention"
    | "condition.label"
    | "condition.projects";
  readonly passes: boolean;
  readonly reason: string;
}

/** The event and the mapping to which the rules apply. */
export interface GateInput {
  readonly event: SourceEvent;
  readonly payload: Json;
  readonly mapping: Pick<TaskMapping, "conditions" | "task_id" | "canonical_trigger">;
  readonly policy: EffectivePolicy;
  /**
   * Whether an operator replays the event, or the service itself caused it and wants it to run. Then the limits on authors do not
   * apply.
   */
  readonly trusted: boolean;
}

/** Every rule that decides whether an event may start a task. All of them must pass. */
export function verdictsOf(input: GateInput): Verdict[] {
  return [...(input.trusted ? [] : authorVerdicts(input)), ...conditionVerdicts(input)];
}

/** Why an event may not start a task; `null` if it may. */
export const refusalOf = (input: GateInput): string | null => verdictsOf(input).find(({ passes }) => !passes)?.reason ?? null;

function authorVerdicts({ event, policy }: GateInput): Verdict[] {
  const author = event.author ?? null;
  const { trigger_allowed_bots: bots, trigger_min_standing: standing } = policy;
  const verdicts: Verdict[] = [];
  if (author && (author.kind === "bot" || author.kind === "app")) {
    const passes = isNamed(author, event.actor, bots.value);
    const place = limitName("trigger_allowed_bots", bots.level);
    const reason = `${authorName(author)} is ${author.kind === "bot" ? "a bot" : "an app"}, and ${place} ${passes ? "names" : "does not name"} it`;
    verdicts.push({ check: "bots", passes, reason });
  }
  if (standing.value !== "none") {
    const place = limitName("trigger_min_standing", standing.level);
    verdicts.push({ check: "min_standing", ...standingVerdict(author, standing.value, place) });
  }
  return verdicts;
}

function conditionVerdicts({ event, payload, mapping }: GateInput): Verdict[] {
  const { min_standing, mention, label, projects } = mapping.conditions;
  const place = `the mapping of ${mapping.canonical_trigger} to ${mapping.task_id}`;
  const verdicts: Verdict[] = [];
  const add = (check: Verdict["check"], passes: boolean, yes: string, no: string) =>
    verdicts.push({ check, passes, reason: `${passes ? yes : no}, which ${place} requires` });
  if (min_standing)
    verdicts.push({
      check: "condition.min_standing",
      ...standingVerdict(event.author ?? null, min_standing, `min_standing in ${place}`),
    });
  if (mention) {
    const name = mention.replace(/^@?/, "@");
    const passes = isMentioned(mention, event, payload);
    add("condition.mention", passes, `the text mentions ${name}`, `the visible text does not mention ${name}`);
  }
  if (label) {
    const { names, isKnown } = labelsIn(payload);
    const passes = names.some((one) => one.toLowerCase() === label.toLowerCase());
    const no = isKnown
      ? `the issue does not have the label "${label}"`
      : `the payload contains no labels, so it does not have the label "${label}"`;
    add("condition.label", passes, `the issue has the label "${label}"`, no);
  }
  if (projects) {
    const project = event.subject?.project ?? null;
    const passes = project !== null && projects.some((one) => one.toLowerCase() === project.toLowerCase());
    const named = project === null ? "the event names no project" : `${project} is not one of the projects`;
    add("condition.projects", passes, `${project} is one of the projects`, named);
  }
  return verdicts;
}

function standingVerdict(author: EventAuthor | null, requiredStanding: RequiredStanding, place: string) {
  const standing = author?.standing ?? "unknown";
  const name = authorName(author);
  if (standing === "unknown")
    return { passes: true, reason: `the standing of ${name} is unknown, so ${requiredStanding} in ${place} does not apply` };
  const refusal = author && standingRefusal(author, requiredStanding, place);
  if (refusal) return { passes: false, reason: refusal };
  return { passes: true, reason: `${name} has the standing ${standing}, which meets ${requiredStanding} in ${place}` };
}

/** GitHub's name is `dependabot[bot]`, but people write `dependabot`. */
const bare = (login: string): string => login.toLowerCase().replace(/\[bot\]$/, "");

function isNamed({ id, name }: EventAuthor, actor: string | null, allowed: readonly string[]): boolean {
  const logins = [id, name, actor].flatMap((login) => (login === null ? [] : [bare(login)]));
  return allowed.some((one) => one === "*" || logins.includes(bare(one)));
}

/** Maximum number of consecutive hops by a bot or an app. */
const maxHopsOfBots = 3;

/** Maximum number of consecutive events that answer our writes (0: no limit), and the reason for holding the next one. */
export function hopLimit(policy: EffectivePolicy, kind: EventAuthor["kind"], windowSeconds: number) {
  const { value, level } = policy.loop_max_hops;
  const isBot = kind === "bot" || kind === "app";
  const max = isBot ? Math.min(value, maxHopsOfBots) : value;
  const place = limitName("loop_max_hops", level);
  const limit = max < value ? `the limit for bots and apps is ${max}, regardless of ${place}` : `${place} allows ${max}`;
  const reason = `{hops} events in a row on this issue each came within ${windowSeconds} s of a write by Signalbox, which looks like a loop: ${limit}`;
  return { max, reason };
}
