import { type Policy, type PolicyMember, policy, policyMembers, standings } from "@signalbox/schema/policy";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readConfig } from "../platform/config.ts";
import { effectivePolicy } from "./effective.ts";
import { settingsPolicy } from "./settings.ts";

const settings = settingsPolicy(readConfig({}, "/nonexistent"));
const valuesOf = (...levels: [Policy, Policy?, Policy?]) =>
  Object.fromEntries(Object.entries(effectivePolicy(...levels)).map(([member, { value }]) => [member, value]));

test("without settings of their own, all levels have the documented defaults", () => {
  const effective = effectivePolicy(settings);
  expect(Object.keys(effective).sort()).toEqual(Object.keys(policyMembers).sort());
  expect(new Set(Object.values(effective).map(({ level }) => level))).toEqual(new Set(["settings"]));
  expect(valuesOf(settings)).toEqual(valuesOf({}));
  expect(valuesOf(settings)).toMatchObject({
    trigger_allowed_bots: [],
    trigger_min_standing: "none",
    write_min_standing: "collaborator",
    loop_max_hops: 10,
    run_tokens: 500_000,
    month_usd: 0,
    presence: "reaction",
    targets: "issue",
    staged: false,
  });
});

test("the environment sets the top level", () => {
  const given = settingsPolicy(
    readConfig({ TRIGGER_ALLOWED_BOTS: "ci, renovate[bot]", BUDGET_DAY_USD: "2.50", TRACKER_PRESENCE: "off" }, "/nonexistent"),
  );
  expect(given).toMatchObject({ trigger_allowed_bots: ["ci", "renovate[bot]"], day_usd: 2.5, presence: "off" });
  expect(() => readConfig({ TRIGGER_MIN_STANDING: "unknown" }, "/nonexistent")).toThrow(/TRIGGER_MIN_STANDING/);
  expect(() => readConfig({ BUDGET_DAY_USD: "-1" }, "/nonexistent")).toThrow(/BUDGET_DAY_USD/);
});

test("each level narrows the ones above, and is named for what it narrows", () => {
  const top: Policy = { ...settings, trigger_allowed_bots: ["ci", "Renovate[bot]", "x"], run_tokens: 1000, day_tokens: 0 };
  const project: Policy = { trigger_allowed_bots: ["renovate[bot]", "ci"], run_tokens: 5000, day_tokens: 70, allow: ["images"] };
  const agent: Policy = { trigger_allowed_bots: ["*"], run_tokens: 0, day_tokens: 90, staged: true, approve: ["comment"] };
  expect(effectivePolicy(top, project, agent)).toMatchObject({
    trigger_allowed_bots: { value: ["ci", "Renovate[bot]"], level: "project" },
    run_tokens: { value: 1000, level: "settings" },
    day_tokens: { value: 70, level: "project" },
    allow: { value: ["images"], level: "project" },
    staged: { value: true, level: "agent" },
    approve: { value: ["comment"], level: "agent" },
  });
  expect(effectivePolicy({}, { approve: ["comment"] }, { approve: ["alpha.*"] }).approve).toEqual({
    value: ["comment", "alpha.*"],
    level: "agent",
  });
  expect(effectivePolicy(settings, {}, { targets: "any" }).targets).toEqual({ value: "any", level: "agent" });
  expect(effectivePolicy(settings, { targets: "issue" }, { targets: "any" }).targets).toEqual({
    value: "issue",
    level: "project",
  });
});

const aPolicy = fc.record(
  {
    trigger_allowed_bots: fc.uniqueArray(fc.constantFrom("a", "b", "c", "*")),
    trigger_min_standing: fc.constantFrom("owner", "member", "collaborator", "contributor", "none"),
    loop_max_hops: fc.integer({ min: 0, max: 5 }),
    day_usd: fc.integer({ min: 0, max: 5 }),
    staged: fc.boolean(),
    allow: fc.uniqueArray(fc.constantFrom("mentions", "images", "closing", "commands")),
    approve: fc.uniqueArray(fc.constantFrom("comment", "alpha.*", "beta.x")),
    targets: fc.constantFrom("issue", "project", "any"),
    presence: fc.constantFrom("off", "reaction", "comment"),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Policy>;

/** Whether `a` allows nothing that `b` forbids. */
const noLooser: { [member: string]: (a: never, b: never) => boolean } = {
  trigger_allowed_bots: (a: string[], b: string[]) => b.includes("*") || a.every((name) => b.includes(name)),
  trigger_min_standing: (a: (typeof standings)[number], b: (typeof standings)[number]) =>
    standings.indexOf(a) <= standings.indexOf(b),
  loop_max_hops: (a: number, b: number) => b === 0 || (a !== 0 && a <= b),
  day_usd: (a: number, b: number) => b === 0 || (a !== 0 && a <= b),
  staged: (a: boolean, b: boolean) => a || !b,
  allow: (a: string[], b: string[]) => a.every((name) => b.includes(name)),
  approve: (a: string[], b: string[]) => b.every((name) => a.includes(name)),
  targets: (a: string, b: string) => ["issue", "project", "any"].indexOf(a) <= ["issue", "project", "any"].indexOf(b),
  presence: (a: string, b: string) => ["off", "reaction", "comment"].indexOf(a) <= ["off", "reaction", "comment"].indexOf(b),
};

test("no level loosens another, the result is a policy, and the named level sets the value", () => {
  fc.assert(
    fc.property(aPolicy, aPolicy, aPolicy, (top, project, agent) => {
      const levels = { settings: top, project, agent };
      const effective = effectivePolicy(top, project, agent);
      policy.parse(valuesOf(top, project, agent));
      for (const member of Object.keys(noLooser) as PolicyMember[]) {
        const { value, level } = effective[member];
        const given = Object.values(levels).filter((one) => one[member] !== undefined);
        for (const one of given) expect(noLooser[member]?.(value as never, one[member] as never)).toBe(true);
        if (given.length > 0) expect(levels[level][member]).toBeDefined();
      }
    }),
  );
});
