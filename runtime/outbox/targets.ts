import type { EffectivePolicy } from "@signalbox/schema/policy";
import type { Parameters, RegisteredTool } from "../tools/registered-tool.ts";
import { type Place, placeOf } from "./place.ts";

/** Subject of a run, and the targets that its policy allows. */
export interface TargetRules {
  readonly source: string;
  /** The issue of its event, as the platform names it. */
  readonly own: Place;
  /** Hosts of the platform: its URLs name issues too. */
  readonly hosts: readonly string[];
  readonly targets: EffectivePolicy["targets"]["value"];
  readonly reads: EffectivePolicy["reads"]["value"];
  /** Other names of the event's project, for example its number. Called only if a call names another project. */
  readonly aliases: () => Promise<readonly string[]>;
}

export type Verdict =
  | { readonly kind: "allowed"; readonly input: Parameters }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Checks whether a call stays within the targets to which its run may write or from which it may read. Such a call is sent with
 * the event's own names, so that no spelling means one target here and another at the platform.
 */
export async function checkTarget(tool: RegisteredTool, input: Parameters, rules: TargetRules): Promise<Verdict> {
  const isWrite = tool.effect === "write";
  const limit = isWrite ? rules.targets : rules.reads;
  const { issue, project } = input;
  if (limit === "any" || (!tool.source && isAbsent(issue) && isAbsent(project))) return { kind: "allowed", input };
  const verb = isWrite ? "write to" : "read from";
  const bounds = limit === "issue" && !isAbsent(issue) ? targetText(rules) : `the project ${rules.own.project ?? "of its event"}`;
  const refused = (detail: string): Verdict => ({
    kind: "refused",
    reason: `Refused by policy: ${tool.qualifiedName} may ${verb} ${bounds} only, and ${detail}. Nothing was ${isWrite ? "written" : "read"}.`,
  });
  if (tool.source && tool.source.name !== rules.source)
    return refused(`it belongs to ${tool.source.name}, not to ${rules.source}`);
  const own = placeOf(rules.source, rules.own, rules.hosts);
  const named = placeOf(rules.source, input, rules.hosts);
  const target = JSON.stringify({ ...(isAbsent(issue) ? {} : { issue }), ...(isAbsent(project) ? {} : { project }) });
  const isIssue = !isAbsent(issue);
  if (isIssue && named.issue === own.issue && isGlobal(named.issue)) return { kind: "allowed", input: withOwn(input, rules.own) };
  if (own.project === null) return refused("the event names no project");
  if (!(await isOwnProject(named.project, own.project, rules))) return refused(`this call names ${target.slice(0, 300)}`);
  if (!isIssue) return { kind: "allowed", input: { ...input, ...(isAbsent(project) ? {} : { project: rules.own.project }) } };
  if (named.issue === own.issue && own.issue !== null) return { kind: "allowed", input: withOwn(input, rules.own) };
  if (limit === "issue" || !isReadable(rules.source, named.issue)) return refused(`this call names ${target.slice(0, 300)}`);
  const spelled = rules.source === "gamma" ? named.issue?.toUpperCase() : named.issue;
  return { kind: "allowed", input: { ...input, issue: spelled, ...(isAbsent(project) ? {} : { project: rules.own.project }) } };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === "";
const targetText = ({ own }: TargetRules): string =>
  own.issue === null ? "the issue of its event" : `${own.project ?? ""} ${own.issue}`.trim();

/** Plane's ids and Jira's keys identify an issue without its project. */
const isGlobal = (issue: string | null): boolean =>
  issue !== null && /^(?:[0-9a-f]{8}-[0-9a-f-]{27}|[a-z][a-z0-9_]*-\d+)$/.test(issue);

/** Whether a name is unambiguous for the platform. */
const isReadable = (source: string, issue: string | null): boolean =>
  issue !== null &&
  (source === "alpha" ? /^\d+$/ : source === "beta" ? /^!?\d+$/ : source === "gamma" ? /-\d+$/ : /^[\w-]+$/).test(issue);

/** Unchanged if spelled as in the event. */
const withOwn = (input: Parameters, own: Place): Parameters => ({
  ...input,
  ...(String(input.issue) !== own.issue && { issue: own.issue }),
  ...(Object.hasOwn(input, "project") && own.project !== null && { project: own.project }),
});

async function isOwnProject(named: string | null, own: string, rules: TargetRules): Promise<boolean> {
  if (named === null || named === own) return true;
  const aliases = await rules.aliases();
  return aliases.some((alias) => alias.toLowerCase() === named);
}
