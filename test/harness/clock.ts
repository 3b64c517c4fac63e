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
