import {
  type EffectivePolicy,
  type Policy,
  type PolicyLevel,
  type PolicyMember,
  policyLevels,
  requiredStandings,
} from "@signalbox/schema/policy";

type Value<M extends PolicyMember> = EffectivePolicy[M]["value"];
/** The stricter of two values of a member. */
type Narrow<T> = (above: T, below: T) => T;

/** The value if no level sets the member. */
const defaults: { readonly [M in PolicyMember]: Value<M> } = {
  trigger_allowed_bots: [],
  trigger_min_standing: "none",
  write_min_standing: "collaborator",
  loop_max_hops: 10,
  run_tokens: 500_000,
  run_seconds: 1200,
  run_writes: 10,
  issue_runs_per_hour: 60,
  issue_tokens_per_day: 5_000_000,
  author_runs_per_hour: 120,
  day_tokens: 0,
  day_usd: 0,
  month_usd: 0,
  on_close: "cancel",
  targets: "issue",
  reads: "project",
  allow: [],
  staged: false,
  approve: [],
  presence: "reaction",
};

/** The smaller of two limits, where 0 means no limit. */
const smallerLimit: Narrow<number> = (above, below) => (above === 0 || (below !== 0 && below < above) ? below : above);

/** The one that is first in the order, which begins with the strictest. */
const stricterOf =
  <T>(order: readonly T[]): Narrow<T> =>
  (above, below) =>
    order.indexOf(below) < order.indexOf(above) ? below : above;

const sameName = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** The names in both lists; `*` means all names. */
const commonNames: Narrow<string[]> = (above, below) => {
  if (above.includes("*")) return below;
  if (below.includes("*")) return above;
  return above.filter((name) => below.some((other) => sameName(name, other)));
};

const narrowings: { readonly [M in PolicyMember]: Narrow<Value<M>> } = {
  trigger_allowed_bots: commonNames,
  trigger_min_standing: stricterOf(requiredStandings),
  write_min_standing: stricterOf(requiredStandings),
  loop_max_hops: smallerLimit,
  run_tokens: smallerLimit,
  run_seconds: smallerLimit,
  run_writes: smallerLimit,
  issue_runs_per_hour: smallerLimit,
  issue_tokens_per_day: smallerLimit,
  author_runs_per_hour: smallerLimit,
  day_tokens: smallerLimit,
  day_usd: smallerLimit,
  month_usd: smallerLimit,
  on_close: stricterOf(["cancel", "finish"]),
  targets: stricterOf(["issue", "project", "any"]),
  reads: stricterOf(["project", "any"]),
  allow: (above, below) => above.filter((kind) => below.includes(kind)),
  staged: (above, below) => above || below,
  approve: (above, below) => [...new Set([...above, ...below])],
  presence: stricterOf(["off", "reaction", "comment"]),
};

/**
 * The policy for the work of an agent in a project: each level restricts the levels above it. A member that no level sets has its
 * default, as a value of the settings.
 */
export function effectivePolicy(settings: Policy, project: Policy = {}, agent: Policy = {}): EffectivePolicy {
  const levels = { settings, project, agent };
  const members = Object.keys(defaults) as PolicyMember[];
  return Object.fromEntries(members.map((member) => [member, effectiveMember(member, levels)])) as EffectivePolicy;
}

function effectiveMember<M extends PolicyMember>(member: M, levels: Readonly<Record<PolicyLevel, Policy>>) {
  let found: { value: Value<M>; level: PolicyLevel } | null = null;
  for (const level of policyLevels) {
    const set = levels[level][member] as Value<M> | undefined;
    if (set === undefined) continue;
    const value: Value<M> = found ? narrowings[member](found.value, set) : set;
    // A level that repeats the value of the level above does not count as setting it.
    if (!found || JSON.stringify(value) !== JSON.stringify(found.value)) found = { value, level };
  }
  return found ?? { value: defaults[member], level: "settings" as const };
}
