import type { EffectivePolicy } from "@signalbox/schema/policy";
import { unknownProject } from "../subject-names/subject-key.ts";
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
  const { source, eventPlace } = rules;
  const isWrite = tool.effect === "write";
  const limit = isWrite ? rules.targets : rules.reads;
  const { issue, project } = input;
  const [namesIssue, namesProject] = [!isAbsent(issue), !isAbsent(project)];
  const allow = (allowed: Parameters): Verdict => ({ kind: "allowed", input: allowed });
  if (limit === "any" || (!tool.source && !namesIssue && !namesProject)) return allow(input);
  const refuse = (detail: string): Verdict => {
    const verb = isWrite ? "write to" : "read from";
    const bounds = limit === "issue" && namesIssue ? targetText(rules) : `the project ${eventPlace.project ?? "of its event"}`;
    const outcome = `Nothing was ${isWrite ? "written" : "read"}.`;
    return {
      kind: "refused",
      reason: `Refused by policy: ${tool.qualifiedName} may ${verb} ${bounds} only, and ${detail}. ${outcome}`,
    };
  };
  if (tool.source && tool.source.name !== source) return refuse(`it belongs to ${tool.source.name}, not to ${source}`);
  const own = placeOf(source, eventPlace, rules.hosts);
  const requested = placeOf(source, input, rules.hosts);
  const isOwnIssue = namesIssue && requested.issue === own.issue && own.issue !== null;
  if (isOwnIssue && isGlobal(own.issue)) return allow(withOwn(input, eventPlace));
  if (own.project === null) return refuse("the event names no project");
  const target = JSON.stringify({ ...(namesIssue && { issue }), ...(namesProject && { project }) });
  const other = `this call names ${target.slice(0, 300)}`;
  if (!(await isOwnProject(requested.project, own.project, rules))) return refuse(other);
  if (isOwnIssue) return allow(withOwn(input, eventPlace));
  const inProject = namesProject ? { ...input, project: eventPlace.project } : input;
  if (!namesIssue) return allow(inProject);
  if (limit === "issue" || own.project === unknownProject || !isReadable(source, requested.issue)) return refuse(other);
  const key = projectInKey(requested.issue);
  const isOwnKey = key === null || key === projectInKey(own.issue) || (await isOwnProject(key, own.project, rules));
  if (!isOwnKey) return refuse(other);
  return allow({ ...inProject, issue: source === "gamma" ? requested.issue?.toUpperCase() : requested.issue });
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

/** The project in the key of an issue, which finds the issue whatever project a call names: `eng` in `eng-42`. */
const projectInKey = (issue: string | null): string | null => /^([a-z][a-z0-9_]*)-\d+$/.exec(issue ?? "")?.[1] ?? null;

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
