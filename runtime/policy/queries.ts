import type { Policy } from "@signalbox/schema/policy";
import type { Queryable } from "../platform/database/client.ts";

interface ProjectPolicy {
  readonly id: number;
  readonly source: string;
  readonly source_project_id: string;
  readonly policy: Policy;
}

/** The policies of the projects that have one. */
export const allProjectPolicies = (sql: Queryable): Promise<ProjectPolicy[]> =>
  sql<ProjectPolicy[]>`select id, source, source_project_id, policy from projects where policy <> '{}'`;

/** The policies of the agents that have one. */
export const allAgentPolicies = (sql: Queryable): Promise<{ id: string; policy: Policy }[]> =>
  sql<{ id: string; policy: Policy }[]>`select id, policy from agents where policy <> '{}'`;

/** Whether the project and the agent exist. */
export async function findLevels(
  sql: Queryable,
  agentId: string | null,
  projectId: number | null,
): Promise<{ agent: boolean; project: boolean }> {
  const [row] = await sql<[{ agent: boolean; project: boolean }]>`
    select exists (select 1 from agents where id = ${agentId}) as agent,
      exists (select 1 from projects where id = ${projectId}) as project`;
  return row;
}
