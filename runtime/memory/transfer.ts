import { zonedTime } from "@signalbox/schema/common";
import { create } from "@signalbox/schema/memory";
import { Problem } from "@signalbox/schema/problem";
import type { z } from "zod";
import type { Sql } from "../platform/database/client.ts";
import { inputProblem, refuseUnstorable } from "../platform/operation.ts";
import { listKeys } from "./queries.ts";
import type { MemoryRepository } from "./repository.ts";
import { type MemoryStores, withStore } from "./stores.ts";

const pageSize = 200;

/**
 * Every memory as one line of JSON: the body of `POST /api/memory` plus `created_at`; `ttl_seconds` is the remaining
 * lifetime. Sorted by key, so concurrent writes and deletions do not shift the pages.
 */
export async function* exportMemories({ sql, stores }: { sql: Sql; stores: MemoryStores }): AsyncGenerator<string> {
  for (let lastKey = ""; ; ) {
    const keys = await listKeys(sql, lastKey, pageSize);
    const memories = await Promise.all(
      keys.map(async ({ key, store }) => {
        const place = stores.byName(store);
        return place ? withStore(place, (backend) => backend.get(key)) : null;
      }),
    );
    for (const [i, memory] of memories.entries()) {
      if (!memory) continue;
      const { id: _, updated_at: __, ...members } = memory;
      yield JSON.stringify({ ...members, ttl_seconds: keys[i]?.ttl_seconds ?? null });
    }
    if (keys.length < pageSize) return;
    lastKey = keys.at(-1)?.key ?? "";
  }
}

interface ImportResult {
  readonly created: number;
  /** Skipped because the key already exists. */
  readonly skipped: number;
  readonly failed: readonly { readonly line: number; readonly error: string }[];
}

const line = create.input.extend({ created_at: zonedTime.optional() });
type Line = z.infer<typeof line>;
const maxConcurrent = 32;

/** Lines of a text file. Only a line feed ends a line, because JSON may contain other line separators. */
export async function* linesOf(file: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let lineParts: string[] = [];
  for await (const bytes of file) {
    const [first = "", ...more] = decoder.decode(bytes, { stream: true }).split("\n");
    lineParts.push(first);
    for (const next of more) {
      yield lineParts.join("");
      lineParts = [next];
    }
  }
  const last = lineParts.join("") + decoder.decode();
  if (last !== "") yield last;
}

/** Imports the output of `exportMemories`. An invalid line is reported by number; the others are imported. */
export async function importMemories(repository: MemoryRepository, lines: AsyncIterable<string>): Promise<ImportResult> {
  const result = { created: 0, skipped: 0, failed: [] as { line: number; error: string }[] };
  const refuse = (number: number, { message }: Error) => void result.failed.push({ line: number, error: message });
  const store = async (memory: Line, number: number) => {
    try {
      await repository.create(memory);
      result.created++;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code === "already_exists") result.skipped++;
      else refuse(number, error);
    }
  };
  let number = 0;
  const group = new Map<string, Promise<void>>();
  const storeGroup = async () => {
    await Promise.all(group.values());
    group.clear();
  };
  for await (const text of lines) {
    number++;
    if (text.trim() === "") continue;
    const memory = read(text);
    if (memory instanceof Problem) {
      refuse(number, memory);
      continue;
    }
    // If two lines have the same key, the first one wins.
    if (group.size >= maxConcurrent || group.has(memory.key)) await storeGroup();
    group.set(memory.key, store(memory, number));
  }
  await storeGroup();
  return { ...result, failed: result.failed.sort((a, b) => a.line - b.line) };
}

function read(text: string): Line | Problem {
  try {
    const value = parseJson(text);
    const checked = line.safeParse(value);
    if (!checked.success) throw inputProblem(checked.error);
    refuseUnstorable(value, []);
    return checked.data;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem("bad_request", "It is not valid JSON.");
  }
}
