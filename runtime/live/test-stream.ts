import type { Execution } from "../executions/queries.ts";
import { firstIdOf } from "../platform/ids.ts";
import type { Change, LiveStream } from "./stream.ts";

export const signal = new AbortController().signal;
export const minuteMs = 60_000;

/** `created`: its time, in milliseconds. */
export const execution = (state: string, created = 0) => ({ id: firstIdOf(created), state }) as Execution;

/** The next changes of a stream. */
export async function take(stream: LiveStream, count: number): Promise<Change[]> {
  const changes: Change[] = [];
  for await (const change of stream.changes(signal)) if (changes.push(change) === count) break;
  return changes;
}
