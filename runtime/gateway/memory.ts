import * as gateway from "@signalbox/schema/gateway";
import type { Input } from "@signalbox/schema/operation";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { MemoryMatch, StoredMemory } from "@signalbox/sdk";
import type { Memory } from "../memory/open.ts";
import type { Sql } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { deleteMemoryAuthor, insertMemoryAuthor, isMemoryAuthor, type Session } from "./queries.ts";
import { requireSession, type SessionOptions } from "./sessions.ts";

type Filter = Pick<Input<typeof gateway.memoryList>, "scope" | "agent_id" | "project_id">;

/** The memories that an agent may see: its own, those of its tasks, those of every project, and the organisation's. */
function visibleTo(agentId: string, { scope, agent_id, project_id }: Filter): MemoryMatch[] {
  const visibleMatches: MemoryMatch[] = [
    { scope: "organizational" },
    { scope: "project" },
    { scope: "agent", agent_id: agentId },
    { scope: "task", agent_id: agentId },
  ];
  return visibleMatches
    .filter((match) => scope === undefined || match.scope === scope)
    .filter((match) => agent_id === undefined || match.agent_id === undefined || match.agent_id === agent_id)
    .map((match) => ({ ...match, ...(agent_id !== undefined && { agent_id }), ...(project_id !== undefined && { project_id }) }));
}

const sees = (session: Session, memory: StoredMemory): boolean =>
  memory.scope === "organizational" || memory.scope === "project" || memory.agent_id === session.agent_id;

/** The memory calls of external agents, on the same stores as the HTTP API. */
export function gatewayMemoryOperations(memory: Memory, options: SessionOptions): BoundOperation[] {
  const find = async (session: Session, key: string) => {
    const entry = await memory.get(key);
    // Not "forbidden", which would tell the agent that the memory exists.
    if (!sees(session, entry)) throw problem("not_found", `There is no memory with the key "${key}".`, { field: "key" });
    return entry;
  };
  /** With API keys, an agent changes only memories that it wrote. Without keys, everyone may change all memories. */
  const mayChange = async (sql: Sql, session: Session, { id }: StoredMemory) =>
    session.trust_level === "privileged" || (await isMemoryAuthor(sql, id, session.agent_id)) || (await options.keys.isOpen());
  return [
    handle(gateway.memoryStore, async ({ session_id, ...input }, { sql }) => {
      const session = await requireSession(sql, options, session_id);
      if (input.scope === "project" && input.project_id === undefined) {
        throw fieldProblem("project_id", "is required for the scope project");
      }
      const own = input.scope === "agent" || input.scope === "task";
      const entry = await memory.create({ ...input, agent_id: own ? session.agent_id : null });
      await insertMemoryAuthor(sql, { id: entry.id, agent_id: session.agent_id, ttl_seconds: input.ttl_seconds });
      return entry;
    }),
    handle(gateway.memoryRetrieve, async ({ session_id, key }, { sql }) =>
      find(await requireSession(sql, options, session_id), key),
    ),
    handle(gateway.memoryList, async ({ session_id, limit, offset, ...filter }, { sql }) => {
      const session = await requireSession(sql, options, session_id);
      const { items, total } = await memory.list(visibleTo(session.agent_id, filter), { limit, offset });
      return { memories: items, total };
    }),
    handle(gateway.memorySearch, async ({ session_id, query, mode, limit, ...filter }, { sql }) => {
      const session = await requireSession(sql, options, session_id);
      const visible = visibleTo(session.agent_id, { ...filter, agent_id: undefined });
      return { memories: await memory.search({ text: query, mode, filter: visible, ...(limit !== undefined && { limit }) }) };
    }),
    handle(gateway.memoryDelete, async ({ session_id, key }, { sql }) => {
      const session = await requireSession(sql, options, session_id);
      const entry = await find(session, key);
      if (!(await mayChange(sql, session, entry)))
        throw problem("forbidden", `The agent "${session.agent_id}" did not write the memory "${key}", so it cannot delete it.`, {
          field: "key",
        });
      await memory.remove(key);
      await deleteMemoryAuthor(sql, entry.id);
      return {};
    }),
  ];
}
