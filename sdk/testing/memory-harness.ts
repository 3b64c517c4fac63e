import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { MemoryScope, MemoryStore, NewMemory, VectorSettings } from "../memory.ts";

/** A memory store under test. Each case has an agent of its own, so that it sees only its own memories. */
export interface MemoryHarness {
  readonly backend: MemoryStore;
  /** The same store through a second setup of the plugin, like another replica. */
  readonly other: MemoryStore;
  readonly vectors: VectorSettings;
  readonly agent: string;
  /** Creates a memory of the case's agent, with a new key unless one is given. */
  memory(content: string, more?: Partial<NewMemory>): NewMemory;
  /** Creates and stores a memory. Storing must succeed. */
  put(content: string, more?: Partial<NewMemory>): Promise<NewMemory>;
  /** A vector of length 1 at an angle of `degrees`. */
  vector(degrees: number): number[];
}

export function memoryHarness(backend: MemoryStore, other: MemoryStore, vectors: VectorSettings): MemoryHarness {
  const agent = `agent_${randomUUID().replaceAll("-", "")}`;
  let count = 0;
  const vector = (degrees: number) => {
    const radians = (degrees * Math.PI) / 180;
    return Array.from({ length: vectors.dimension }, (_, i) => (i === 0 ? Math.cos(radians) : i === 1 ? Math.sin(radians) : 0));
  };
  const memory = (content: string, more: Partial<NewMemory> = {}): NewMemory => {
    const at = new Date(Date.UTC(2026, 0, 1) + count++ * 1000).toISOString();
    const ownMemory = { id: randomUUID(), key: `${agent}/${count}`, content, scope: "agent" as MemoryScope };
    const rest = { agent_id: agent, project_id: null, task_id: null, created_at: at, updated_at: at };
    return { ...ownMemory, ...rest, ttl_ms: null, embedding: null, ...more };
  };
  const put = async (content: string, more?: Partial<NewMemory>) => {
    const one = memory(content, more);
    assert.equal(await backend.put(one), true, `put must store ${JSON.stringify(one.key).slice(0, 80)}`);
    return one;
  };
  return { backend, other, vectors, agent, memory, put, vector };
}

/** The memory as the store returns it. */
export function storedMemory({ ttl_ms: _, embedding: __, ...memory }: NewMemory) {
  return memory;
}

export const keysOf = (memories: readonly { readonly key: string }[]): string[] => memories.map(({ key }) => key);
