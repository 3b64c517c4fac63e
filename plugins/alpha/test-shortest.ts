/** The shortest time that up to three runs return, in milliseconds: a busy machine delays one. A time below `limit` ends the runs. */
export async function shortestOf(run: () => Promise<number> | number, limit: number): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let runs = 0; runs < 3 && !(shortest < limit); runs++) shortest = Math.min(shortest, await run());
  return shortest;
}
