import type { EffectivePolicy, RequiredStanding } from "@signalbox/schema/policy";
import type { EventAuthor } from "@signalbox/sdk";
import { limitName } from "./settings.ts";
import { authorName, standingRefusal } from "./standing.ts";

/** The result of one rule about the author of an event, in words. */
export interface AuthorVerdict {
  readonly check: "bots" | "min_standing";
  readonly passes: boolean;
  readonly reason: string;
}

/** The rules of a policy about who starts runs. `actor`: the account that caused the event, as its platform names it. */
export function authorVerdicts(author: EventAuthor | null, actor: string | null, policy: EffectivePolicy): AuthorVerdict[] {
  const { trigger_allowed_bots: bots, trigger_min_standing: standing } = policy;
  const verdicts: AuthorVerdict[] = [];
  if (author && (author.kind === "bot" || author.kind === "app")) {
    const passes = isNamed(author, actor, bots.value);
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

export function standingVerdict(author: EventAuthor | null, requiredStanding: RequiredStanding, place: string) {
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
