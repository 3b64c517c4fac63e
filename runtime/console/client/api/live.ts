import { signal } from "@preact/signals";
import { base } from "../route/location.ts";

/** Counts up whenever something may have changed at the service. */
export const changed = signal(0);
/** Whether changes are being followed; false while the service does not answer. */
export const connected = signal(true);

/** Several events in a row are one reload. */
const calmMs = 400;
/** Without the stream, and while it is being opened again. */
const pollMs = 4_000;
/** Beside the stream, which has the changes of executions only, not deliveries that start nothing. */
const slowMs = 12_000;
const maxWaitMs = 15_000;

/** Nothing is moved by a change while the pointer is on its way to it. */
const handMs = 700;
/** A pointer that never rests holds changes back for this long. */
const maxHoldMs = 3_000;

let announcing = false;
let moved = Number.NEGATIVE_INFINITY;
const announce = () => {
  if (announcing) return;
  announcing = true;
  const end = performance.now() + maxHoldMs;
  const tell = () => {
    const now = performance.now();
    const rest = Math.min(moved + handMs, end) - now;
    if (rest > 0) return void setTimeout(tell, rest);
    announcing = false;
    if (document.visibilityState === "visible") changed.value++;
  };
  setTimeout(tell, calmMs);
};

/** Follows the service's events, and polls while it has no stream. */
export function followChanges(): void {
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
    // A browser has six connections to one host for all of its tabs: those that are not looked at need none.
    if (document.visibilityState === "hidden") return;
    source = new EventSource(`${base}api/events`);
    source.onopen = () => {
      waitMs = 1_000;
      connected.value = true;
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
  open();
  setInterval(() => source?.readyState !== EventSource.OPEN && announce(), pollMs);
  setInterval(announce, slowMs);
  document.addEventListener("visibilitychange", () => {
    open();
    announce();
  });
  addEventListener("online", announce);
  for (const type of ["pointermove", "pointerdown"] as const)
    addEventListener(type, () => (moved = performance.now()), { passive: true });
}

/** Whether the service answers at all: a service without the stream does. */
async function probe(): Promise<void> {
  const answer = await fetch(`${base}health`).catch(() => null);
  connected.value = answer !== null;
}
