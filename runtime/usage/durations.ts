/*
 * Durations are counted in buckets whose bounds grow by a factor of 2^(1/4). So a percentile is exact to 10 %, and sums of many
 * days can be added.
 */
const perDoubling = 4;

/** SQL of the bucket of a duration in milliseconds. Logarithms of `numeric` are 100 times slower. */
export const bucketSql = (ms: string): string =>
  `floor(ln(greatest(1, (${ms})::float8)) / ln(2::float8) * ${perDoubling} + 1e-9)::int`;

/** Middle of a bucket, milliseconds. */
const middleOf = (bucket: number): number => Math.round(2 ** ((bucket + 0.5) / perDoubling));

/** The duration, in milliseconds, that this share of the executions did not exceed; `null` if there are none. */
export function percentile(buckets: ReadonlyMap<number, number>, share: number): number | null {
  const total = [...buckets.values()].reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of [...buckets].sort(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= total * share) return middleOf(bucket);
  }
  return null;
}
