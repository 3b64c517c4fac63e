import { reconcile } from "../platform/reconcile.ts";
import type { Parameters, RegisteredTool, ToolUse } from "./registered-tool.ts";

/** Deadline of one call, a plugin's own waiting for a tracker's Retry-After included. */
const callMs = 90_000;

/** Whether nobody can tell what became of a call that was begun and not finished: then it must not be repeated. */
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
