/** Named with every change of the algorithm: vectors of different versions are not comparable. */
export const localModel = "local/feature-hashing-1";

/**
 * Feature hashing: every word, its beginning and every three letters of it add to one dimension each, and the vector gets
 * the length 1. Needs no model; texts that share words or parts of words are close to each other.
 */
export function hashEmbedding(text: string, dimension: number): number[] {
  const vector = new Float64Array(dimension);
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word, count] of counts) {
    // Often repeated words say little more than those said once.
    const weight = (1 + Math.log(count)) * (commonWords.has(word) ? 0.1 : 1);
    add(vector, word, weight);
    const letters = [...`^${word}$`];
    const gram = (weight * 0.6) / Math.sqrt(Math.max(1, letters.length - 2));
    for (let i = 0; i + 3 <= letters.length; i++) add(vector, `#${letters.slice(i, i + 3).join("")}`, gram);
  }
  if (words.length === 0) add(vector, text, 1);
  const length = Math.hypot(...vector) || 1;
  return Array.from(vector, (value) => value / length);
}

const commonWords = new Set(
  "a an and are as at be but by for from has have how i if in into is it its not of on or our so that the their then there these they this to was we were what when where which who will with you your".split(
    " ",
  ),
);

function add(vector: Float64Array, feature: string, weight: number): void {
  const hash = fnv1a(feature);
  const at = (hash >>> 1) % vector.length;
  vector[at] = (vector[at] as number) + (hash & 1 ? weight : -weight);
}

/** FNV-1a over UTF-16 units, with a last mix: neighbouring features must not land side by side. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
