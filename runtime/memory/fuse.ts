/** Rank constant of Cormack, Clarke and Büttcher (SIGIR 2009): low ranks count for little. */
const k = 60;

/**
 * Reciprocal rank fusion: an entry ranked high in one list, or in both, ranks high in the result. Needs no comparable
 * scores.
 */
export function fuse<T extends { readonly id: string }>(first: readonly T[], second: readonly T[], limit: number): T[] {
  const scores = new Map<string, { item: T; score: number }>();
  for (const ranking of [first, second]) {
    for (const [rank, item] of ranking.entries()) {
      const known = scores.get(item.id);
      scores.set(item.id, { item: known?.item ?? item, score: (known?.score ?? 0) + 1 / (k + rank + 1) });
    }
  }
  return [...scores.values()]
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ item }) => item);
}
