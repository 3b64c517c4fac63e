import * as agents from "@signalbox/schema/agents";
import { problem } from "@signalbox/schema/problem";
import { handle } from "../platform/operation.ts";
import { defaultAgents } from "./defaults.ts";
import { deleteAgent, findAgent, insertAgent, listAgents, updateAgent } from "./queries.ts";
import { hashSecret } from "./secret.ts";

const absent = (id: string) => problem("not_found", `No agent has the id "${id}".`);

/** Columns of an agent from its input: the secret is stored as a hash. */
async function toRow<T extends { auth_secret?: string | undefined }>({ auth_secret, ...members }: T) {
  const row = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Omit<T, "auth_secret">;
  return auth_secret === undefined ? row : { ...row, auth_secret_hash: await hashSecret(auth_secret) };
}

const list = handle(agents.list, (page, { sql }) => listAgents(sql, page));

const get = handle(agents.get, async ({ id }, { sql }) => {
  const agent = await findAgent(sql, id);
  if (!agent) throw absent(id);
  return agent;
});

/** Path segments below /api/agents, which an agent's id must not shadow. */
const reserved = ["seed", "capabilities"];

const create = handle(agents.create, async (input, { sql }) => {
  if (reserved.includes(input.id)) throw problem("bad_request", `id: "${input.id}" is reserved; choose another`, { field: "id" });
  const agent = await insertAgent(sql, await toRow(input));
  if (!agent) throw problem("conflict", `id: an agent with the id "${input.id}" already exists`, { field: "id" });
  return agent;
});

const update = handle(agents.update, async ({ id, ...change }, { sql }) => {
  const agent = await updateAgent(sql, id, await toRow(change));
  if (!agent) throw absent(id);
  return agent;
});

const remove = handle(agents.remove, async ({ id }, { sql }) => {
  if (!(await deleteAgent(sql, id))) throw absent(id);
  return {};
});

const seed = handle(agents.seed, async (_, { sql }) => {
  let created = 0;
  for (const agent of defaultAgents) {
    const row = { ...agent, responsibilities: [...agent.responsibilities], constraints: [...agent.constraints] };
    if (await insertAgent(sql, { ...row, policy: {}, trust_level: "default", auth_enabled: false })) created++;
  }
  return { created, skipped: defaultAgents.length - created };
});

export const agentOperations = [list, get, create, update, remove, seed];
