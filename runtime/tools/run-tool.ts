import { withDeadline } from "../platform/abortable.ts";
import { retryRemote, writeOnce } from "../platform/remote-calls.ts";
import { Failure, maxRetryMs } from "../platform/retry.ts";
import type { Parameters, RegisteredTool, ToolUse } from "./registered-tool.ts";

/** Timeout of one call, including the plugin's own waits for a tracker's Retry-After. */
const callMs = 90_000;
/** Maximum duration of a run of a tool, including its retries and the waits between them, in milliseconds. */
export const maxToolRunMs = maxRetryMs(2 * callMs);

/** Whether the outcome of an interrupted call cannot be determined, so that the call must not be repeated. */
export const hasUnknowableOutcome = (tool: RegisteredTool): boolean =>
  tool.effect === "write" && !tool.idempotent && tool.find === null;

/**
 * Runs a tool. If an earlier try of a write may have arrived, looks for its result first. `again`: whether there was such a try;
 * each further try within this call also counts as one.
 */
export async function runTool(tool: RegisteredTool, input: Parameters, use: ToolUse, again: boolean): Promise<unknown> {
  const find = findFor(tool, input, use);
  let tries = 0;
  const counted =
    <T>(call: () => Promise<T>) =>
    (attempt: number) => {
      tries = attempt;
      return call();
    };
  const run = counted(() => inTime(use, use.signal, (limited) => tool.run(input, limited)));
  try {
    if (!find) return await retryRemote(run, use.signal);
    return await writeOnce(
      counted(() => find(use.signal)),
      run,
      use.signal,
      again,
    );
  } catch (error) {
    if (error instanceof Failure && error.timedOut) error.message = withTries(error.message, tries);
    throw error;
  }
}

/** How often a call was tried that was not answered in time, and if the message does not say it, for how long each time. */
function withTries(message: string, tries: number): string {
  const limit = /within [\d.]+ m?s\b/.test(message) ? "" : ` of at most ${callMs / 1000} s`;
  return `${message.replace(/\.$/, "")} (${tries} ${tries === 1 ? "try" : "tries"}${limit}).`;
}

/** Looks for a write of this call at the platform. `undefined`: it cannot be looked for, or repeating it changes nothing. */
export function findFor(tool: RegisteredTool, input: Parameters, use: Omit<ToolUse, "signal">) {
  const { find } = tool;
  return find && !tool.idempotent ? (signal: AbortSignal) => inTime(use, signal, (limited) => find(input, limited)) : undefined;
}

const inTime = <T>(use: Omit<ToolUse, "signal">, until: AbortSignal, run: (use: ToolUse) => Promise<T>): Promise<T> =>
  withDeadline(until, callMs, (signal) => run({ ...use, signal }));
