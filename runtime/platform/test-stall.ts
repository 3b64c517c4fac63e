import { shortestOf } from "../../test/harness/wait.ts";

/** Maximum processor time of one tick of the event loop, in milliseconds of the machine for which it was chosen. */
export const maxStallMs = 50;
/** What reading `reference` once takes there. */
const referenceMs = 2.5;
/** Enough for a clock that some systems advance by 4 ms at a time. */
const readings = 25;
const reference = JSON.stringify(
  Array.from({ length: 12_000 }, (_, i) => ({ name: `member ${i}`, value: i, text: "x".repeat(40) })),
);
export const mebibyte = 1 << 20;

/** `piece`, repeated up to `size` characters. */
export const repeat = (piece: string, size: number): string => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);

const usedMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** How many times longer this machine takes now than the one for which limits were chosen: at least 1. */
function slowness(): number {
  const began = usedMs();
  for (let i = 0; i < readings; i++) JSON.parse(reference);
  return Math.max(1, (usedMs() - began) / readings / referenceMs);
}

/**
 * The longest processor time of this thread in one tick of the event loop during `run`, in milliseconds. Other threads and
 * processes do not count. If it is too long, it is compared with what the same moment needs for known work, because a machine may
 * be slower, or share its cores with others.
 */
export async function stallOf(run: () => Promise<unknown>): Promise<number> {
  let [longest, last] = [0, usedMs()];
  const turn = () => {
    const now = usedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(turn, 1);
  try {
    await run();
  } finally {
    turn();
    clearInterval(timer);
  }
  return longest < maxStallMs ? longest : longest / slowness();
}

/** The shortest stall of up to three runs, because a collection of garbage comes in one of them. `limit`: as for `shortestOf`. */
export const repeatedStallOf = (run: () => Promise<unknown>, limit = maxStallMs): Promise<number> =>
  shortestOf(() => stallOf(run), limit);

/** The stall of an idle thread, which the test runner itself causes, in milliseconds. */
export const idleStall = (): Promise<number> => stallOf(() => new Promise((done) => setTimeout(done, 100)));
