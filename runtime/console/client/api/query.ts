import { type Signal, signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { CallError } from "./call.ts";
import { changed } from "./live.ts";
import { readSession } from "./session.ts";

export interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: CallError | undefined;
  readonly loading: boolean;
}
export interface Query<T> extends Loaded<T> {
  readonly reload: () => Promise<void>;
}

interface Entry {
  readonly state: Signal<Loaded<unknown>>;
  load: (signal: AbortSignal) => Promise<unknown>;
  running: AbortController | null;
  /** Asked again while it was running. */
  again: boolean;
  watchers: number;
}

const entries = new Map<string, Entry>();
/** First answers that the shown page still waits for. */
export const awaited = signal(0);
const count = () => {
  awaited.value = [...entries.values()].filter(({ watchers, state }) => watchers > 0 && state.peek().loading).length;
};
/** Answers that no page shows are kept, so that going back shows something at once. */
const maxEntries = 60;

/**
 * The answer of `load`, which is loaded again when something has changed at the service. The last answer stays while the next
 * one loads. `key`: what it depends on; null loads nothing. `live` false: only `reload` loads it again. `keep`: the answer of
 * the key before stays too, so that a filter does not empty its list first.
 */
export function useQuery<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  { live = true, keep = false }: { live?: boolean; keep?: boolean } = {},
): Query<T> {
  const entry = useMemo(() => entryOf(key ?? ""), [key]);
  entry.load = load;
  // Before the next frame: a page knows at once which first answers it waits for.
  useLayoutEffect(() => {
    if (key === null) return;
    entry.watchers++;
    void refresh(entry);
    count();
    const seen = changed.peek();
    // A subscription begins with the present value, which is no change.
    const stop = live ? changed.subscribe((count) => count !== seen && void refresh(entry)) : undefined;
    return () => {
      stop?.();
      if (--entry.watchers === 0) entry.running?.abort();
      count();
    };
  }, [entry, key, live]);
  const { data, error, loading } = entry.state.value as Loaded<T>;
  const before = useRef<T>(undefined);
  if (data !== undefined) before.current = data;
  const kept = keep && loading ? before.current : undefined;
  return { data: data ?? kept, error, loading, reload: () => refresh(entry) };
}

function entryOf(key: string): Entry {
  const known = entries.get(key);
  if (known) return known;
  const made: Entry = {
    state: signal({ data: undefined, error: undefined, loading: true }),
    load: async () => undefined,
    running: null,
    again: false,
    watchers: 0,
  };
  entries.set(key, made);
  for (const [old, { watchers }] of entries) {
    if (entries.size <= maxEntries) break;
    if (watchers === 0 && old !== key) entries.delete(old);
  }
  return made;
}

async function refresh(entry: Entry): Promise<void> {
  if (entry.running) {
    entry.again = true;
    return;
  }
  const controller = new AbortController();
  entry.running = controller;
  try {
    const data = await entry.load(controller.signal);
    entry.state.value = { data, error: undefined, loading: false };
  } catch (error) {
    if (controller.signal.aborted) return;
    const fault = error instanceof CallError ? error : new CallError(0, String(error));
    entry.state.value = { data: entry.state.peek().data, error: fault, loading: false };
    // The session has ended: the login page follows.
    if (fault.status === 401) await readSession().catch(() => {});
  } finally {
    entry.running = null;
    count();
    if (entry.again && entry.watchers > 0) {
      entry.again = false;
      void refresh(entry);
    }
  }
}
