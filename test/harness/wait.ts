import { setTimeout as sleep } from "node:timers/promises";
import type { JsonClient } from "./json-client.ts";

export interface Waiting {
  /** In milliseconds. Default: 30,000, which detects a hang and does not measure speed. A test of a time limit sets its own. */
  readonly timeout?: number;
  /** Milliseconds. Default: 50 at the start, up to 1,000 during a long wait, because each call may be a request to the service. */
  readonly interval?: number;
}

/**
 * Calls `fn` until it neither throws nor returns `false`, `null` or `undefined`, and returns its result. At the time limit, it
 * throws the error of the last call.
 */
export async function eventually<T>(
  fn: () => T | Promise<T>,
  { timeout = 30_000, interval }: Waiting = {},
): Promise<Exclude<T, false | null | undefined>> {
  const begin = performance.now();
  const end = begin + timeout;
  const pause = () => interval ?? Math.min(1_000, 50 + (performance.now() - begin) / 10);
  let calls = 0;
  let last: unknown;
  do {
    if (calls++ > 0) await sleep(Math.min(pause(), Math.max(0, end - performance.now())));
    try {
      const value = await fn();
      if (value !== false && value !== null && value !== undefined) return value as Exclude<T, false | null | undefined>;
      last = new Error(`it was ${String(value)}`);
    } catch (error) {
      last = error;
    }
  } while (performance.now() < end);
  const error = last instanceof Error ? last : new Error(String(last));
  error.message = `Not within ${timeout} ms (${calls} tries): ${error.message}`;
  throw error;
}

const hourMs = 3_600_000;

/**
 * Waits for the next hour if this one ends within so many seconds. Budgets of an hour, a day or a month begin again with it, and so
 * do the notices on an issue, so a test could count in two of them.
 */
export const hourLasts = (seconds = 60): Promise<boolean> =>
  eventually(() => hourMs - (Date.now() % hourMs) > seconds * 1_000, { timeout: seconds * 1_000 + 5_000 });

/** An execution in `GET /api/task-executions`, with the members that tests wait for. */
export interface ExecutionSeen {
  readonly waiting_for?: string | null;
  readonly id: string;
  readonly task_id: string;
  readonly event_id: string | null;
  readonly agent_id: string | null;
  readonly state: "queued" | "held" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";
  readonly attempts: number;
  readonly error: string | null;
  readonly result: string | null;
  readonly result_url: string | null;
}

export const ended: readonly string[] = ["succeeded", "failed", "cancelled"];

/**
 * Waits until the executions of an event, or all of the service, have ended, or are in `state`. `count`: minimum number of
 * executions. Default: 1.
 */
export function waitForExecutions(
  service: Pick<JsonClient, "get">,
  wanted: Waiting & { event_id?: string; count?: number; state?: ExecutionSeen["state"] } = {},
): Promise<ExecutionSeen[]> {
  const { event_id, count = 1, state, ...waiting } = wanted;
  const query = event_id ? `&event_id=${event_id}` : "";
  return eventually(
    async () => {
      const { status, body } = await service.get<ExecutionSeen[]>(`/api/task-executions?limit=1000&fields=result${query}`);
      if (status !== 200) throw new Error(`GET /api/task-executions answered ${status}: ${JSON.stringify(body)}`);
      const there = body.filter((one) => (state ? one.state === state : ended.includes(one.state)));
      if (there.length < count || (!state && there.length < body.length)) {
        const states = body.map(
          (one) => `${one.task_id} ${one.state} (attempts ${one.attempts}${one.error ? `, ${one.error}` : ""})`,
        );
        throw new Error(
          `of ${count} executions ${there.length} have ${state ? `the state ${state}` : "ended"}: ${states.join("; ") || "there are none"}`,
        );
      }
      return there;
    },
    { timeout: 60_000, ...waiting },
  );
}

/**
 * The shortest time that up to three runs return: a busy machine delays one, what the code itself does comes each time. `limit`: a
 * shorter time ends the runs.
 */
export async function shortestOf(run: () => Promise<number>, limit: number): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let runs = 0; runs < 3 && shortest >= limit; runs++) shortest = Math.min(shortest, await run());
  return shortest;
}
