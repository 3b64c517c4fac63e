import * as gateway from "@signalbox/schema/gateway";
import type { Input } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import type { MemoryMatch, StoredMemory } from "@signalbox/sdk";
import type { Memory } from "../memory/open.ts";
import type { Sql } from "../platform/database/client.ts";
import { type Bound, handle } from "../platform/operation.ts";
import type { Limits } from "./limits.ts";
import type { Session } from "./queries.ts";
import { requireSession } from "./sessions.ts";

type Filter = Pick<Input<typeof gateway.memoryList>, "scope" | "agent_id" | "project_id">;

/** What an agent may see: its own memories, those of its own tasks, those of every project, and the organisation's. */
export function visibleTo(agentId: string, { scope, agent_id, project_id }: Filter): MemoryMatch[] {
  const all: MemoryMatch[] = [
    { scope: "organizational" },
    { scope: "project" },
    { scope: "agent", agent_id: agentId },
    { scope: "task", agent_id: agentId },
  ];
  return all
    .filter((match) => scope === undefined || match.scope === scope)
    .filter((match) => agent_id === undefined || match.agent_id === undefined || match.agent_id === agent_id)
    .map((match) => ({ ...match, ...(agent_id !== undefined && { agent_id }), ...(project_id !== undefined && { project_id }) }));
}

const sees = (session: Session, memory: StoredMemory): boolean =>
  memory.scope === "organizational" || memory.scope === "project" || memory.agent_id === session.agent_id;

/** The memory calls of external agents, on the same store as the HTTP API. */
export function gatewayMemoryOperations(memory: Memory, limits: Limits): Bound[] {
  const find = async (sql: Sql, session_id: string, key: string) => {
    const session = await requireSession(sql, limits, session_id);
    const found = await memory.get(key);
    // Not "forbidden": what an agent may not see it need not know of.
    if (!sees(session, found)) throw problem("not_found", `There is no memory with the key "${key}".`, { field: "key" });
    return found;
  };
  return [
    handle(gateway.memoryStore, async ({ session_id, ...input }, { sql }) => {
      const session = await requireSession(sql, limits, session_id);
      if (input.scope === "project" && input.project_id === undefined) {
        throw problem("bad_request", "project_id: is required for the scope project", { field: "project_id" });
      }
      const own = input.scope === "agent" || input.scope === "task";
      return memory.create({ ...input, agent_id: own ? session.agent_id : null });
    }),
    handle(gateway.memoryRetrieve, ({ session_id, key }, { sql }) => find(sql, session_id, key)),
    handle(gateway.memoryList, async ({ session_id, limit, offset, ...filter }, { sql }) => {
      const session = await requireSession(sql, limits, session_id);
      const { items, total } = await memory.list(visibleTo(session.agent_id, filter), { limit, offset });
      return { memories: items, total };
    }),
    handle(gateway.memorySearch, async ({ session_id, query, mode, limit, ...filter }, { sql }) => {
      const session = await requireSession(sql, limits, session_id);
      const visible = visibleTo(session.agent_id, { ...filter, agent_id: undefined });
      return { memories: await memory.search({ text: query, mode, filter: visible, ...(limit !== undefined && { limit }) }) };
    }),
    handle(gateway.memoryDelete, async ({ session_id, key }, { sql }) => {
      await find(sql, session_id, key);
      await memory.remove(key);
      return {};
    }),
  ];
}
