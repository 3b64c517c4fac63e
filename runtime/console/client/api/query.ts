import { type Signal, signal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CallError } from "./call.ts";
import { changeCount } from "./live.ts";
import { readSession } from "./session.ts";

export interface LoadState<T> {
  readonly data: T | undefined;
  readonly error: CallError | undefined;
  readonly loading: boolean;
}
export interface Query<T> extends LoadState<T> {
  /** Whether `data` was requested after the page began to show this key: an earlier result is shown until its successor arrives. */
  readonly isFresh: boolean;
  /** Resolves when data that was requested after this call has arrived, or its request failed. */
  readonly reload: () => Promise<void>;
}

interface Entry {
  readonly state: Signal<LoadState<unknown>>;
  load: (signal: AbortSignal) => Promise<unknown>;
  running: { readonly controller: AbortController; readonly ended: Promise<void> } | null;
  /** The load that was requested while another one was running, and follows it. */
  next: Promise<void> | null;
  watchers: number;
}

const entries = new Map<string, Entry>();
/** Number of first responses that the shown page still waits for. */
export const pendingFirstResponses = signal(0);
const count = () => {
  pendingFirstResponses.value = [...entries.values()].filter(
    ({ watchers, state }) => watchers > 0 && state.peek().loading,
  ).length;
};
/** Responses that no page shows are kept, so that going back shows data immediately. */
const maxEntries = 60;

/**
 * The result of `load`, which is loaded again when data of the service may have changed. The last result remains while the next
 * one loads. `key`: identifies the request; null loads nothing. `live` false: only `reload` loads it again. `keep`: the result of
 * the previous key remains too, so that a new filter does not empty the list first.
 */
export function useQuery<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  { live = true, keep = false }: { live?: boolean; keep?: boolean } = {},
): Query<T> {
  const entry = useMemo(() => entryOf(key ?? ""), [key]);
  const [freshEntry, setFresh] = useState<Entry | null>(null);
  entry.load = load;
  // A layout effect runs before the next frame, so a page knows immediately which responses it waits for.
  useLayoutEffect(() => {
    if (key === null) return;
    entry.watchers++;
    let isShown = true;
    setFresh(null);
    void refresh(entry).then(() => isShown && setFresh(entry));
    count();
    const countBefore = changeCount.peek();
    // A subscription starts with the current value, which is not a change.
    const stop = live ? changeCount.subscribe((count) => count !== countBefore && void refresh(entry)) : undefined;
    return () => {
      isShown = false;
      stop?.();
      if (--entry.watchers === 0) entry.running?.controller.abort();
      count();
    };
  }, [entry, key, live]);
  const { data, error, loading } = entry.state.value as LoadState<T>;
  const before = useRef<T>(undefined);
  if (data !== undefined) before.current = data;
  const previous = keep && loading ? before.current : undefined;
  return { data: data ?? previous, error, loading, isFresh: freshEntry === entry, reload: () => refresh(entry) };
}

function entryOf(key: string): Entry {
  const existing = entries.get(key);
  if (existing) return existing;
  const entry: Entry = {
    state: signal({ data: undefined, error: undefined, loading: true }),
    load: async () => undefined,
    running: null,
    next: null,
    watchers: 0,
  };
  entries.set(key, entry);
  for (const [old, { watchers }] of entries) {
    if (entries.size <= maxEntries) break;
    if (watchers === 0 && old !== key) entries.delete(old);
  }
  return entry;
}

/** Loads again. If a load is running, its answer may be older than this call, so another one follows it. */
function refresh(entry: Entry): Promise<void> {
  if (entry.next) return entry.next;
  if (!entry.running) return start(entry);
  entry.next = entry.running.ended.then(() => {
    entry.next = null;
    return entry.watchers > 0 ? start(entry) : undefined;
  });
  return entry.next;
}

function start(entry: Entry): Promise<void> {
  const controller = new AbortController();
  const end = load(entry, controller.signal).finally(() => {
    entry.running = null;
    count();
  });
  entry.running = { controller, ended: end };
  return end;
}

async function load(entry: Entry, signal: AbortSignal): Promise<void> {
  try {
    const data = await entry.load(signal);
    entry.state.value = { data, error: undefined, loading: false };
  } catch (error) {
    if (signal.aborted) return;
    const fault = error instanceof CallError ? error : new CallError(0, String(error));
    entry.state.value = { data: entry.state.peek().data, error: fault, loading: false };
    // The session has ended, so the login page is shown.
    if (fault.status === 401) await readSession().catch(() => {});
  }
}
