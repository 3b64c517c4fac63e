import type { Service } from "./service.ts";

const aheadMs = 11 * 60_000;
const code = `let ahead = 0; const { now } = Date; Date.now = () => now() + ahead; process.on("SIGUSR2", () => { ahead += ${aheadMs}; });`;

/** Variables of a service on Node whose clock `moveClock` can move. */
export const movableClock = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };

/** Moves the clock of a service eleven minutes ahead, as its cached values see it. */
export async function moveClock(service: Service): Promise<void> {
  process.kill(service.pid, "SIGUSR2");
  // The signal is handled before a request that arrives later.
  await service.get("/health");
}

const shift = (ms: number) =>
  `const { now } = Date; const later = () => now() + ${ms}; globalThis.Date = class extends Date {
    constructor(...all) { super(...(all.length ? all : [later()])); } static now() { return later(); } };`;

/** Variables of a service on Node whose clock is ahead by some seconds from its start, or, if they are negative, behind. */
export const shiftedClock = (seconds: number): Record<string, string> => ({
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(shift(seconds * 1000))}`,
});
