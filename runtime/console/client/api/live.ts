import { type ReadonlySignal, signal } from "@preact/signals";
import { base } from "../route/location.ts";

/** Increases whenever data of the service may have changed. */
export const changeCount = signal(0);
/** Whether the last request was answered. */
export const isConnected = signal(true);

/** Several events within this time cause one reload. */
const calmMs = 400;
/** Polling interval while there is no stream. */
const pollMs = 4_000;
/** Polling interval while there is a stream. It reports only changes of executions, not webhooks that start nothing. */
const slowMs = 12_000;
const maxWaitMs = 15_000;

/** After the pointer moves, changes are held back for this long, so that nothing moves while a user is about to click on it. */
const handMs = 700;
/** Maximum time for which a moving pointer holds changes back. */
const maxHoldMs = 3_000;

let isAnnouncing = false;
let lastMoveAt = Number.NEGATIVE_INFINITY;
const announce = () => {
  if (isAnnouncing) return;
  isAnnouncing = true;
  const end = performance.now() + maxHoldMs;
  const notify = () => {
    const now = performance.now();
    const rest = Math.min(lastMoveAt + handMs, end) - now;
    if (rest > 0) return void setTimeout(notify, rest);
    isAnnouncing = false;
    if (document.visibilityState === "visible") changeCount.value++;
  };
  setTimeout(notify, calmMs);
};

/** Follows the service's events while they may be read. Polls while there is no stream. */
export function followChanges(mayRead: ReadonlySignal<boolean>): void {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let waitMs = 1_000;
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    // A browser allows six connections to one host for all of its tabs, so hidden tabs close theirs.
    if (document.visibilityState === "hidden" || !mayRead.peek()) return;
    source = new EventSource(`${base}api/events`);
    source.onopen = () => {
      waitMs = 1_000;
      isConnected.value = true;
      announce();
    };
    for (const type of ["execution", "step"]) source.addEventListener(type, announce);
    source.onerror = () => {
      close();
      retry = setTimeout(open, waitMs);
      waitMs = Math.min(maxWaitMs, waitMs * 2);
      void probe();
    };
  };
  // Also at once, with the current value.
  mayRead.subscribe(open);
  setInterval(() => (source?.readyState !== EventSource.OPEN || !isConnected.value) && announce(), pollMs);
  setInterval(announce, slowMs);
  document.addEventListener("visibilitychange", () => {
    open();
    announce();
  });
  addEventListener("online", announce);
  for (const type of ["pointermove", "pointerdown"] as const)
    addEventListener(type, () => (lastMoveAt = performance.now()), { passive: true });
}

/** Whether the service responds at all, because a service without the stream still does. */
async function probe(): Promise<void> {
  const answer = await fetch(`${base}health`).catch(() => null);
  isConnected.value = answer !== null;
}
