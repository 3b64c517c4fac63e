import * as memory from "@signalbox/schema/memory";
import type { MemoryMatch } from "@signalbox/sdk";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Memory } from "./open.ts";
import { listUses } from "./use-queries.ts";

type Filter = { [Name in "scope" | "agent_id" | "project_id"]?: MemoryMatch[Name] | undefined };

/** The members that the caller set. */
const matchOf = ({ scope, agent_id, project_id }: Filter): MemoryMatch => ({
  ...(scope !== undefined && { scope }),
  ...(agent_id !== undefined && { agent_id }),
  ...(project_id !== undefined && { project_id }),
});

export function memoryOperations(service: Memory): BoundOperation[] {
  return [
    handle(memory.search, async ({ query, mode, limit, ...filter }) => {
      const items = await service.search({ text: query, mode, filter: [matchOf(filter)], ...(limit !== undefined && { limit }) });
      return { items, total: items.length };
    }),
    handle(memory.list, ({ limit, offset, ...filter }) => service.list([matchOf(filter)], { limit, offset })),
    handle(memory.get, ({ key }) => service.get(key)),
    handle(memory.uses, async ({ key, limit, offset }, { sql }) => {
      const uses = await listUses(sql, key, { limit, offset });
      // Uses are kept after their memory is deleted. A memory without uses must exist.
      if (uses.total === 0) await service.get(key);
      return uses;
    }),
    handle(memory.create, (input, { auditEntry }) => service.create(input, auditEntry)),
    handle(memory.remove, async ({ key }) => {
      await service.remove(key);
      return {};
    }),
  ];
}
