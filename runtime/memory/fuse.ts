/** Ranks deep down count for little; the constant of Cormack, Clarke and Büttcher (SIGIR 2009). */
const k = 60;

/**
 * Reciprocal rank fusion: what stands high in one ranking, or in both, stands high in the result. Needs no scores that
 * could be compared.
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
