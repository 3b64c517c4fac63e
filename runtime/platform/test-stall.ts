/** Maximum processor time of one tick of the event loop, in milliseconds. */
export const maxStallMs = 50;
export const mebibyte = 1 << 20;

/** `piece`, repeated up to `size` characters. */
export const repeat = (piece: string, size: number): string => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);

/**
 * The longest processor time of this thread in one tick of the event loop during `run`, in milliseconds. Other threads and
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

/** The shortest stall of three runs: a collection of garbage comes once, what the code itself does comes each time. */
export async function repeatedStallOf(run: () => Promise<unknown>): Promise<number> {
  return Math.min(await stallOf(run), await stallOf(run), await stallOf(run));
}

/** The stall of an idle thread, which the test runner itself causes, in milliseconds. */
export const idleStall = (): Promise<number> => stallOf(() => new Promise((done) => setTimeout(done, 100)));
