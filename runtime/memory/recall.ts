import type { MemoryMatch } from "@signalbox/sdk";
import { within } from "../platform/abortable.ts";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import type { Report } from "../platform/log.ts";
import { startLoop } from "../platform/loop.ts";
import { type FindDeps, find, type SearchHit } from "./find.ts";
import { anythingStored } from "./queries.ts";
import { authorsOf } from "./use-queries.ts";

/** The execution, agent and project that memories are recalled for. */
interface Viewer {
  readonly execution_id: string | null;
  readonly agent_id: string | null;
  readonly project_id: number | null;
}

/** Filters for the memories that a viewer may see, by the rules of the scopes. */
export const visibleTo = ({ execution_id, agent_id, project_id }: Viewer): MemoryMatch[] => [
  { scope: "organizational" },
  ...(project_id === null ? [] : [{ scope: "project" as const, project_id }]),
  ...(agent_id === null ? [] : [{ scope: "agent" as const, agent_id }]),
  ...(execution_id === null ? [] : [{ scope: "task" as const, task_id: execution_id }]),
];

/** The most relevant memories for a prompt. Never throws: without memories the execution continues. */
export type Recall = (content: string, viewer: Viewer) => Promise<SearchHit[]>;

/** Deadline for recalling the memories of a prompt, milliseconds. */
const recallTimeoutMs = 12_000;

export function createRecall(deps: FindDeps, options: { limit: number; storedKinds: StoredKinds; warn: Report }): Recall {
  return async (content, viewer) => {
    if (options.limit === 0 || !options.storedKinds.maybe()) return [];
    const recall = async () => {
      const text = content.slice(0, maxQueryLength).toWellFormed();
      if (text.trim() === "") return [];
      const found = await find(deps, { text, mode: "hybrid", limit: options.limit, filter: visibleTo(viewer) });
      // A memory without similarity to the task would only distract the model.
      const relevant = found.filter((memory) => memory.similarity > 0);
      return relevant.length > 0 ? withAuthors(deps.sql, relevant) : [];
    };
    try {
      return await within(recall(), recallTimeoutMs, () => new Error(`no answer within ${recallTimeoutMs / 1000} s`));
    } catch (error) {
      options.warn("memory recall failed; the execution continues without memories", {
        ...viewer,
        error: messageOf(error),
      });
      return [];
    }
  };
}

/** Adds to each memory who stored it and when. Documents contain this already. */
async function withAuthors(sql: Sql, memories: readonly SearchHit[]): Promise<SearchHit[]> {
  const authors = await authorsOf(
    sql,
    memories.map(({ id }) => id),
  );
  return memories.map((memory) => {
    const agent = authors.get(memory.id);
    const stored = { "written by": agent === undefined ? "a client of the API" : `the agent ${agent}`, at: memory.created_at };
    return { ...memory, about: memory.about ?? stored };
  });
}

/** Number of characters of a task's content that form the search query, because the important part is at the beginning. */
const maxQueryLength = 8_000;

/** Whether any memory or document may exist. It needs no query, so recall costs nothing while there are none. */
interface StoredKinds {
  readonly maybe: () => boolean;
  /** The same for document chunks alone: without any, a search makes one query fewer. */
  readonly chunks: () => boolean;
  /** Called after this replica stored a memory, or document chunks with `chunks`. */
  recordStored(what: "memories" | "chunks"): void;
  close(): void;
}

const pollMs = 10_000;

export async function watchStoredKinds(sql: Sql, bus: Bus, onError: (error: unknown) => void): Promise<StoredKinds> {
  const isStored = { memories: false, chunks: false };
  const readKinds = async () => {
    const kinds = await anythingStored(sql);
    isStored.memories ||= kinds.memories;
    isStored.chunks ||= kinds.chunks;
  };
  await readKinds();
  bus.on("memory", (what) => {
    isStored[what === "chunks" ? "chunks" : "memories"] = true;
  });
  // In case a notification is lost.
  const run = async () => {
    if (!isStored.memories || !isStored.chunks) await readKinds();
  };
  const loop = startLoop({ everyMs: pollMs, run, onError });
  return {
    maybe: () => isStored.memories || isStored.chunks,
    chunks: () => isStored.chunks,
    recordStored: (what) => {
      if (isStored[what]) return;
      isStored[what] = true;
      bus.publish("memory", what).catch(onError);
    },
    close: () => void loop.stop(),
  };
}
