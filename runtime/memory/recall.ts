import type { MemoryMatch } from "@signalbox/sdk";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { type FindDeps, type Found, find } from "./find.ts";
import { anythingStored } from "./queries.ts";

/** In whose name memories are recalled. */
export interface Viewer {
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly project_id: number | null;
}

/** What a viewer may see, by the rules of the scopes. */
export const visibleTo = ({ execution_id, agent_id, project_id }: Viewer): MemoryMatch[] => [
  { scope: "organizational" },
  ...(project_id === null ? [] : [{ scope: "project" as const, project_id }]),
  ...(agent_id === null ? [] : [{ scope: "agent" as const, agent_id }]),
  ...(execution_id === null ? [] : [{ scope: "task" as const, task_id: execution_id }]),
];

/** The most relevant memories for a prompt. Never throws: a run goes without rather than not at all. */
export type Recall = (content: string, viewer: Viewer) => Promise<Found[]>;

/** Longest that a run waits for its memories. */
const patienceMs = 12_000;

export function createRecall(
  deps: FindDeps,
  options: { limit: number; occupied: Occupied; warn: (message: string, context: Record<string, unknown>) => void },
): Recall {
  return async (content, viewer) => {
    if (options.limit === 0 || !options.occupied.maybe()) return [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      const late = new Promise<never>((_, fail) => {
        timer = setTimeout(() => fail(new Error(`no answer within ${patienceMs / 1000} s`)), patienceMs);
      });
      const text = content.slice(0, longestQuery).toWellFormed();
      if (text.trim() === "") return [];
      const query = { text, mode: "hybrid" as const, limit: options.limit, filter: visibleTo(viewer) };
      const found = await Promise.race([find(deps, query), late]);
      // What has nothing in common with the task would only distract.
      return found.filter((memory) => memory.similarity > 0);
    } catch (error) {
      options.warn("a run goes without memories", { ...viewer, error: error instanceof Error ? error.message : String(error) });
      return [];
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Characters of a task's content that memories are looked up by: what matters stands at its beginning. */
const longestQuery = 8_000;

/** Whether any memory or document may exist, known without asking: most events of an empty service pay nothing. */
export interface Occupied {
  readonly maybe: () => boolean;
  /** The same for chunks of documents alone: a search without them is one query less. */
  readonly chunks: () => boolean;
  /** Something was stored here; `chunks`: of documents. */
  note(what: "memories" | "chunks"): void;
  close(): void;
}

const lookMs = 10_000;

export async function watchOccupied(sql: Sql, bus: Bus, failed: (error: unknown) => void): Promise<Occupied> {
  const some = { memories: false, chunks: false };
  const look = async () => {
    const found = await anythingStored(sql);
    some.memories ||= found.memories;
    some.chunks ||= found.chunks;
  };
  await look();
  bus.on("memory", (what) => {
    some[what === "chunks" ? "chunks" : "memories"] = true;
  });
  // The net under notifications that got lost.
  const timer = setInterval(() => {
    if (!some.memories || !some.chunks) look().catch(failed);
  }, lookMs);
  timer.unref();
  return {
    maybe: () => some.memories || some.chunks,
    chunks: () => some.chunks,
    note: (what) => {
      if (some[what]) return;
      some[what] = true;
      bus.publish("memory", what).catch(failed);
    },
    close: () => clearInterval(timer),
  };
}
