/** How long a replica waits for the others before it answers a change, in milliseconds. */
const replicaWaitMs = 500;

/**
 * Makes a change at one replica that the others must know at once, and returns its result. If the machine holds one of them up for
 * so long that the first no longer waits for it, makes another change. `change` is called with 0, then 1 and so on.
 */
export async function knownAtOnce<T>(change: (round: number) => Promise<T>): Promise<T> {
  for (let round = 0; round < 20; round++) {
    const began = performance.now();
    const made = await change(round);
    if (performance.now() - began < replicaWaitMs) return made;
  }
  throw new Error("no change was answered before its replica stopped waiting for the others");
}
