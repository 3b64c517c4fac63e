import type { EffectivePolicy } from "@signalbox/schema/policy";
import type { Parameters, RegisteredTool } from "../tools/registered-tool.ts";
import { type Place, placeOf } from "./place.ts";

/** Subject of a run, and the targets that its policy allows. */
export interface TargetRules {
  readonly source: string;
  /** The issue of its event, as the platform names it. */
  readonly eventPlace: Place;
  /** Hosts of the platform: its URLs name issues too. */
  readonly hosts: readonly string[];
  readonly targets: EffectivePolicy["targets"]["value"];
  readonly reads: EffectivePolicy["reads"]["value"];
  /** Other names of the event's project, for example its number. Called only if a call names another project. */
  readonly aliases: () => Promise<readonly string[]>;
}

type Verdict = { readonly kind: "allowed"; readonly input: Parameters } | { readonly kind: "refused"; readonly reason: string };

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
  const bounds =
    limit === "issue" && !isAbsent(issue) ? targetText(rules) : `the project ${rules.eventPlace.project ?? "of its event"}`;
  const refuse = (detail: string): Verdict => ({
    kind: "refused",
    reason: `Refused by policy: ${tool.qualifiedName} may ${verb} ${bounds} only, and ${detail}. Nothing was ${isWrite ? "written" : "read"}.`,
  });
  if (tool.source && tool.source.name !== rules.source)
    return refuse(`it belongs to ${tool.source.name}, not to ${rules.source}`);
  const ownPlace = placeOf(rules.source, rules.eventPlace, rules.hosts);
  const requestedPlace = placeOf(rules.source, input, rules.hosts);
  const target = JSON.stringify({ ...(isAbsent(issue) ? {} : { issue }), ...(isAbsent(project) ? {} : { project }) });
  const isIssue = !isAbsent(issue);
  if (isIssue && requestedPlace.issue === ownPlace.issue && isGlobal(requestedPlace.issue))
    return { kind: "allowed", input: withOwn(input, rules.eventPlace) };
  if (ownPlace.project === null) return refuse("the event names no project");
  if (!(await isOwnProject(requestedPlace.project, ownPlace.project, rules)))
    return refuse(`this call names ${target.slice(0, 300)}`);
  if (!isIssue)
    return { kind: "allowed", input: { ...input, ...(isAbsent(project) ? {} : { project: rules.eventPlace.project }) } };
  if (requestedPlace.issue === ownPlace.issue && ownPlace.issue !== null)
    return { kind: "allowed", input: withOwn(input, rules.eventPlace) };
  if (limit === "issue" || !isReadable(rules.source, requestedPlace.issue))
    return refuse(`this call names ${target.slice(0, 300)}`);
  const spelled = rules.source === "gamma" ? requestedPlace.issue?.toUpperCase() : requestedPlace.issue;
  return {
    kind: "allowed",
    input: { ...input, issue: spelled, ...(isAbsent(project) ? {} : { project: rules.eventPlace.project }) },
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === "";
/** As the platform writes it: `acme/webshop#42`, `group/app!7`, `CONF-7`. */
function targetText({ eventPlace: { project, issue } }: TargetRules): string {
  if (issue === null) return "the issue of its event";
  if (project === null || isGlobal(issue.toLowerCase())) return `issue ${issue}`;
  if (!/^!?\d+$/.test(issue)) return `issue ${issue} of project ${project}`;
  return `${project}${issue.startsWith("!") ? "" : "#"}${issue}`;
}

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
