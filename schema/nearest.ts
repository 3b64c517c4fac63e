/** The name that a mistyped one probably means; `null` if none is close. */
export function nearestName(input: string, names: Iterable<string>): string | null {
  const lowerCase = input.toLowerCase();
  // Up to a third of the letters may be wrong, but at least one.
  const most = Math.max(1, Math.floor(input.length / 3));
  let best: { name: string; distance: number } | null = null;
  for (const name of names) {
    const limit = best ? best.distance - 1 : most;
    // Each additional or missing letter is an error, so most names need no comparison.
    if (input.length > 200 || Math.abs(input.length - name.length) > limit) continue;
    const distance = editDistance(lowerCase, name.toLowerCase());
    if (distance <= limit) best = { name, distance };
  }
  return best?.name ?? null;
}

/** Optimal string alignment: insertions, deletions, substitutions, and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (same ? 0 : 1));
      row.push(swap ? Math.min(least, (before[j - 2] as number) + 1) : least);
    }
    before = last;
    last = row;
  }
  return last[b.length] as number;
}
