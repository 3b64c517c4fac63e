import * as keys from "@signalbox/schema/keys";
import type { Input } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { databaseTime } from "../platform/clock.ts";
import type { Queryable } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { hashOf, keyHint, newKey } from "./key.ts";
import { findAbsentAgent, findAbsentProject, insertKey, listKeys, revokeKey } from "./queries.ts";

/**
 * Changes are published before the request is answered. A replica that misses the message reads the keys again within seconds.
 */
export function keyOperations(bus: Pick<Bus, "publish">): BoundOperation[] {
  return [
    handle(keys.list, (page, { sql }) => listKeys(sql, page)),
    handle(keys.create, async ({ name, scopes, ...bounds }, { sql }) => {
      const checked = await checkBounds(sql, { scopes, ...bounds });
      const key = newKey();
      const secret = { key_hash: hashOf(key), hint: keyHint(key) };
      const row = await insertKey(sql, { name, ...secret, scopes: [...new Set(scopes)], ...checked });
      if (!row) throw problem("already_exists", `name: the name "${name}" belongs to another key in use`, { field: "name" });
      await bus.publish("keys");
      return { ...row, key };
    }),
    handle(keys.revoke, async ({ id }, { sql }) => {
      if (!(await revokeKey(sql, id))) throw problem("not_found", `There is no key ${id} in use.`);
      await bus.publish("keys");
      return {};
    }),
  ];
}

/** The expiry of a key, its projects, and the agents that it may register. Throws `bad_request`. */
async function checkBounds(sql: Queryable, { scopes, agent_ids, projects, expires_at }: Omit<Input<typeof keys.create>, "name">) {
  if (expires_at && Date.parse(expires_at) <= databaseTime()) throw fieldProblem("expires_at", "must be in the future");
  if (agent_ids && !scopes.includes("agent")) throw fieldProblem("agent_ids", "requires the scope agent in scopes");
  const absent = agent_ids ? await findAbsentAgent(sql, agent_ids) : undefined;
  if (absent !== undefined) throw fieldProblem("agent_ids", `there is no agent "${absent}"`);
  if (projects && scopes.includes("agent"))
    throw fieldProblem("projects", "a key with the scope agent cannot be restricted to projects");
  const unknown = projects ? await findAbsentProject(sql, projects) : undefined;
  if (unknown !== undefined) throw fieldProblem("projects", `there is no project ${unknown}`);
  return {
    projects: projects ? [...new Set(projects)] : null,
    agent_ids: agent_ids ? [...new Set(agent_ids)] : null,
    expires_at: expires_at ?? null,
  };
}
