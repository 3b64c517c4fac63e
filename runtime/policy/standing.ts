import { type EffectivePolicy, type RequiredStanding, requiredStandings } from "@signalbox/schema/policy";
import type { EventAuthor } from "@signalbox/sdk";
import { limitName } from "./settings.ts";

/** Whether a known standing is lower than a rule requires. */
export const isBelow = (standing: EventAuthor["standing"], required: RequiredStanding): boolean =>
  standing !== "unknown" && requiredStandings.indexOf(standing) > requiredStandings.indexOf(required);

/** An author as reasons name them. */
export const authorName = (author: EventAuthor | null): string => author?.name ?? author?.id ?? "the author";

/** Why an author does not meet the standing that `place` requires; `null` if they do, or if their standing is unknown. */
export const standingRefusal = (author: EventAuthor, required: RequiredStanding, place: string): string | null =>
  isBelow(author.standing, required)
    ? `${authorName(author)} has the standing ${author.standing}, and ${place} requires at least ${required}`
    : null;

/** Why the runs of an author may not use tools that write; `null` if they may. */
export function writeRefusal(author: EventAuthor | null, { write_min_standing }: EffectivePolicy): string | null {
  const { value, level } = write_min_standing;
  if (!author || !isBelow(author.standing, value)) return null;
  return `tools that write are not available, because ${authorName(author)} has the standing ${author.standing} and ${limitName("write_min_standing", level)} requires ${value}`;
}

/** Why an execution of an author with a low standing waits. A command on the issue does not release such an execution. */
export const releaseByOperator = "a release by an operator";
