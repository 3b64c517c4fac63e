import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Child } from "./child.ts";
import { limits } from "./limits.ts";
import type { Peer } from "./peer.ts";

/**
 * Pings the process before a call's deadline, so that a hanging process ends `graceMs` after the deadline, while a slow one has
 * `silenceMs` to respond. Returns a function that cancels the ping.
 */
export function watchDeadline(child: Child, peer: Peer, callMs: number): () => void {
  const end = callMs + limits.graceMs;
  const silence = Math.min(limits.silenceMs, end);
  const timer = setTimeout(() => void checkAlive(child, peer, silence), end - silence);
  return () => clearTimeout(timer);
}

/** Ends a process that does not respond to a ping within `ms`. */
export async function checkAlive(child: Child, peer: Peer, ms: number): Promise<void> {
  let heard = false;
  const hear = () => {
    heard = true;
  };
  // A refusal is a response too, and a process that has ended is not ended again.
  peer.request("ping", {}, { deadlineMs: 2 * ms }).then(hear, hear);
  await pause(ms, undefined, { ref: false });
  // The response may be queued after a long message that is being measured.
  if (!heard) await peer.whenIdle();
  // If this process was busy itself, the response may already have arrived and only has to be read.
  if (!heard) await nextTurn();
  if (!heard) child.kill(`it did not answer a ping within ${ms} ms`);
}
