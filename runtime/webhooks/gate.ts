import type { EffectivePolicy } from "@signalbox/schema/policy";
import type { Json, SourceEvent } from "@signalbox/sdk";
import type { TaskMapping } from "../mappings/queries.ts";
import { type AuthorVerdict, authorVerdicts, standingVerdict } from "../policy/author-rules.ts";
import { comparable, labelsIn } from "./conditions.ts";
import { isMentioned } from "./mentioned.ts";

/** The result of one rule about one task of an event, in words. */
interface Verdict {
  readonly check:
    | AuthorVerdict["check"]
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
  const { event, policy, trusted } = input;
  return [...(trusted ? [] : authorVerdicts(event.author ?? null, event.actor, policy)), ...conditionVerdicts(input)];
}

/** Why an event may not start a task; `null` if it may. */
export const refusalOf = (input: GateInput): string | null => verdictsOf(input).find(({ passes }) => !passes)?.reason ?? null;

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
    const passes = names.some((one) => comparable(one) === comparable(label));
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
