/** The name that a mistyped one probably means; `null` if none is close. */
export function nearestName(given: string, names: Iterable<string>): string | null {
  const wanted = given.toLowerCase();
  let best: { name: string; distance: number } | null = null;
  for (const name of names) {
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance };
  }
  // A third of the letters may be wrong; of three letters or fewer, one.
  return best && best.distance <= Math.max(1, Math.floor(given.length / 3)) ? best.name : null;
}

/** Optimal string alignment: insertions, deletions, substitutions, and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 20 || a.length > 200) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const options = [(last[j] as number) + 1, (row[j - 1] as number) + 1, (last[j - 1] as number) + (same ? 0 : 1)];
      row.push(Math.min(...options, swap ? (before[j - 2] as number) + 1 : Number.POSITIVE_INFINITY));
    }
    before = last;
    last = row;
  }
  return last[b.length] as number;
}
