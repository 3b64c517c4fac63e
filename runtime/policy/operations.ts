import * as policy from "@signalbox/schema/policy";
import { fieldProblem } from "@signalbox/schema/problem";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Policies } from "./policies.ts";
import { findLevels } from "./queries.ts";

export const policyOperations = (policies: Policies): BoundOperation[] => [
  handle(policy.get, async ({ agent_id = null, project_id = null }, { sql }) => {
    const { agent, project } = await findLevels(sql, agent_id, project_id);
    if (agent_id !== null && !agent) throw fieldProblem("agent_id", `there is no agent "${agent_id}"`);
    if (project_id !== null && !project) throw fieldProblem("project_id", `there is no project ${project_id}`);
    return { agent_id, project_id, policy: policies.of(agent_id, project_id) };
  }),
];
