/** Maximum CPU time of one turn of the event loop, in milliseconds. */
export const maxStallMs = 50;
export const mebibyte = 1 << 20;

/** `piece`, repeated up to `size` characters. */
export const repeated = (piece: string, size: number): string => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);

/**
 * The most processor time of this thread between two turns of the event loop while `run` lasts. Milliseconds. Other threads and
 * processes do not count.
 */
export async function stallOf(run: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let [longest, last] = [0, used()];
  const turn = () => {
    const now = used();
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
  return longest;
}

/** The stall of a thread with nothing to do: what the test runner itself uses. Milliseconds. */
export const idleStall = (): Promise<number> => stallOf(() => new Promise((done) => setTimeout(done, 100)));
