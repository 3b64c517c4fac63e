import type { DistanceMetric } from "./memory.ts";

/** Distance between two vectors of the same length, as pgvector computes it. */
export function vectorDistance(metric: DistanceMetric, a: ArrayLike<number>, b: ArrayLike<number>): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  let sumOfSquares = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as number;
    const y = b[i] as number;
    dot += x * y;
    aa += x * x;
    bb += y * y;
    sumOfSquares += (x - y) * (x - y);
  }
  if (metric === "ip") return -dot;
  if (metric === "l2") return Math.sqrt(sumOfSquares);
  return aa === 0 || bb === 0 ? 1 : 1 - dot / Math.sqrt(aa * bb);
}

/**
 * Converts a distance to a similarity from 0 to 1, higher is closer: 1 − distance for cosine, 1 ÷ (1 + distance) for l2, the
 * inner product for ip.
 */
export function similarityFromDistance(metric: DistanceMetric, distance: number): number {
  const raw = metric === "l2" ? 1 / (1 + distance) : metric === "ip" ? -distance : 1 - distance;
  return Number.isFinite(raw) ? Math.min(1, Math.max(0, raw)) : 0;
}
