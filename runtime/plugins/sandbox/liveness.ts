import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Child } from "./child.ts";
import { limits } from "./limits.ts";
import type { Peer } from "./peer.ts";

/**
 * Asks for a sign of life so long before the deadline that a process which hangs is ended `graceMs` after it, while one that is
 * only slow has all of `silenceMs` to answer. Answers how to leave it.
 */
export function watchDeadline(child: Child, request: Peer["request"], callMs: number): () => void {
  const end = callMs + limits.graceMs;
  const silence = Math.min(limits.silenceMs, end);
  const timer = setTimeout(() => void stillThere(child, request, silence), end - silence);
  return () => clearTimeout(timer);
}

/** A process that does not answer in time is ended: it hangs. */
export async function stillThere(child: Child, request: Peer["request"], ms: number): Promise<void> {
  let heard = false;
  const hear = () => {
    heard = true;
  };
  // Refused is an answer, too; and one that is gone need not be ended.
  request("ping", {}, { deadlineMs: 2 * ms }).then(hear, hear);
  await pause(ms, undefined, { ref: false });
  // If it was this process that had no time, the answer is there already and has only to be read.
  if (!heard) await nextTurn();
  if (!heard) child.kill(`it did not answer a ping within ${ms} ms`);
}
