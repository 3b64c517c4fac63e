import type { EffectivePolicy, Policy } from "@signalbox/schema/policy";
import type { Bus } from "../platform/bus.ts";
import { type CachedValue, openCachedValue } from "../platform/cached-value.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { spellProject } from "../subject-names/project-spelling.ts";
import { effectivePolicy } from "./effective.ts";
import { allAgentPolicies, allProjectPolicies } from "./queries.ts";

/** A project, identified by its id here or at its platform. */
type ProjectKey = number | { readonly source: string; readonly project: string } | null;

interface Work {
  readonly project_id: number | null;
  readonly source: string;
  readonly project: string | null;
}

/** The key of the project of an execution: its id, or if it has none, its name at the platform. */
export const projectKeyOf = ({ project_id, source, project }: Work): ProjectKey =>
  project_id ?? (project === null ? null : { source, project });

/** The policies of all levels, in memory. When a change is answered, all replicas have read it. */
export interface Policies extends CachedValue {
  /** The policy for the work of an agent in a project; `null`: of no agent, or in no project. */
  of(agentId: string | null, project: ProjectKey): EffectivePolicy;
  /**
   * The policy of work that has begun, at any time later. If its agent or project is deleted or has no policy any more, the last one
   * still applies: such work must not become less restricted because of it.
   */
  during(agentId: string | null, project: ProjectKey): () => EffectivePolicy;
  /** Whether any project of the source has a policy. */
  limitsProjects(source: string): boolean;
}

/** Maximum number of combined policies in memory. */
const maxCached = 10_000;

/** Reads the policies once, and again whenever that of a project or an agent changes on any replica. */
export async function openPolicies(sql: Sql, bus: Bus, log: Log, settings: Policy): Promise<Policies> {
  let agents = new Map<string, Policy>();
  let projects = new Map<number | string, Policy>();
  let limitedSources: ReadonlySet<string> = new Set();
  const combinedPolicies = new Map<string, EffectivePolicy>();
  const settingsPolicy = effectivePolicy(settings);
  const read = async () => {
    const [ofProjects, ofAgents] = await Promise.all([allProjectPolicies(sql), allAgentPolicies(sql)]);
    agents = new Map(ofAgents.map(({ id, policy }) => [id, policy]));
    projects = new Map(
      ofProjects.flatMap(({ id, source, source_project_id, policy }): [number | string, Policy][] => [
        [id, policy],
        [`${source} ${spellProject(source_project_id)}`, policy],
      ]),
    );
    limitedSources = new Set(ofProjects.map(({ source }) => source));
    combinedPolicies.clear();
  };
  const cached = await openCachedValue({ name: "policies", topic: "policy", read, bus, log });
  const agentPolicy = (agentId: string | null) => (agentId === null ? undefined : agents.get(agentId));
  const keyOf = (project: ProjectKey) =>
    typeof project === "object" && project ? `${project.source} ${spellProject(project.project)}` : project;
  const projectPolicy = (projectKey: number | string | null) => (projectKey === null ? undefined : projects.get(projectKey));
  const of: Policies["of"] = (agentId, project) => {
    const ofAgent = agentPolicy(agentId);
    const projectKey = keyOf(project);
    const ofProject = projectPolicy(projectKey);
    if (!ofAgent && !ofProject) return settingsPolicy;
    const key = JSON.stringify([ofAgent && agentId, ofProject && projectKey]);
    const known = combinedPolicies.get(key);
    if (known) return known;
    const effective = effectivePolicy(settings, ofProject, ofAgent);
    if (combinedPolicies.size >= maxCached) combinedPolicies.clear();
    combinedPolicies.set(key, effective);
    return effective;
  };
  const during: Policies["during"] = (agentId, project) => {
    const projectKey = keyOf(project);
    let [lastOfAgent, lastOfProject] = [agentPolicy(agentId), projectPolicy(projectKey)];
    return () => {
      const [ofAgent, ofProject] = [agentPolicy(agentId), projectPolicy(projectKey)];
      lastOfAgent = ofAgent ?? lastOfAgent;
      lastOfProject = ofProject ?? lastOfProject;
      const isComplete = ofAgent === lastOfAgent && ofProject === lastOfProject;
      return isComplete ? of(agentId, project) : effectivePolicy(settings, lastOfProject, lastOfAgent);
    };
  };
  return { ...cached, of, during, limitsProjects: (source) => limitedSources.has(source) };
}
