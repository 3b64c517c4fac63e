import * as agents from "@signalbox/schema/agents";
import type { Policy } from "@signalbox/schema/policy";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { defaultAgents } from "./defaults.ts";
import { deleteAgent, findAgent, insertAgent, listAgents, updateAgent } from "./queries.ts";
import { hashSecret } from "./secret.ts";

const notFound = (id: string) => problem("not_found", `There is no agent "${id}".`);

/** Columns of an agent from its input: the secret is stored as a hash. */
async function toRow<T extends { auth_secret?: string | undefined }>({ auth_secret, ...members }: T) {
  const row = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Omit<T, "auth_secret">;
  return auth_secret === undefined
    ? row
    : { ...row, auth_secret_hash: await hashSecret(auth_secret), auth_secret_short: auth_secret.length < minSecretLength };
}

/** The status lists agents whose secret is shorter than this, in characters. */
const minSecretLength = 16;

/** Path segments below /api/agents, which an agent's id must not shadow. */
const reservedIds = ["seed", "capabilities"];

/** A change of an agent is published before the request is answered, so that the next event uses the new policy. */
export function agentOperations(bus: Bus): BoundOperation[] {
  const publishChange = () => bus.publish("policy");
  return [
    handle(agents.list, (page, { sql }) => listAgents(sql, page)),
    handle(agents.get, async ({ id }, { sql }) => (await findAgent(sql, id)) ?? Promise.reject(notFound(id))),
    handle(agents.create, async (input, { sql }) => {
      if (reservedIds.includes(input.id)) throw fieldProblem("id", `"${input.id}" is reserved; choose another`);
      const agent = await insertAgent(sql, await toRow(input));
      if (!agent) throw problem("already_exists", `id: an agent with the id "${input.id}" already exists`, { field: "id" });
      if (hasPolicy(input)) await publishChange();
      return agent;
    }),
    handle(agents.update, async ({ id, ...change }, { sql }) => {
      const agent = await updateAgent(sql, id, await toRow(change));
      if (!agent) throw notFound(id);
      if (change.policy) await publishChange();
      return agent;
    }),
    handle(agents.remove, async ({ id }, { sql }) => {
      if (!(await deleteAgent(sql, id))) throw notFound(id);
      // Its integrations no longer belong to it, and its MCP servers are deleted with it.
      await Promise.all([publishChange(), bus.publish("integrations"), bus.publish("tools")]);
      return {};
    }),
    handle(agents.seed, async (_, { sql }) => {
      let created = 0;
      for (const agent of defaultAgents) {
        const row = { ...agent, responsibilities: [...agent.responsibilities], constraints: [...agent.constraints] };
        if (await insertAgent(sql, { ...row, policy: {}, trust_level: "default", auth_enabled: false })) created++;
      }
      return { created, skipped: defaultAgents.length - created };
    }),
  ];
}

const hasPolicy = ({ policy }: { policy: Policy }): boolean => Object.keys(policy).length > 0;
