import { reconcile } from "../platform/reconcile.ts";
import { maxRetryMs } from "../platform/retry.ts";
import type { Parameters, RegisteredTool, ToolUse } from "./registered-tool.ts";

/** Timeout of one call, including the plugin's own waits for a tracker's Retry-After. */
const callMs = 90_000;
/** Longest run of a tool, including its retries and the waits between them. Milliseconds. */
export const maxToolRunMs = maxRetryMs(2 * callMs);

/** Whether the outcome of an interrupted call cannot be found out: then the call must not be repeated. */
export const hasUnknowableOutcome = (tool: RegisteredTool): boolean =>
  tool.effect === "write" && !tool.idempotent && tool.find === null;

/**
 * Runs a tool. A write of which an earlier try may have arrived is looked for first: `again` says that this is such a
 * case; every further try within this call is one too.
 */
export function runTool(tool: RegisteredTool, input: Parameters, use: ToolUse, again: boolean): Promise<unknown> {
  const within = (): ToolUse => ({ ...use, signal: AbortSignal.any([use.signal, AbortSignal.timeout(callMs)]) });
  const { find } = tool;
  const look = find && !tool.idempotent ? () => find(input, within()) : undefined;
  return reconcile(look, () => tool.run(input, within()), use.signal, again);
}
