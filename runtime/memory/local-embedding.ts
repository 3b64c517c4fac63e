/** Version of the algorithm: vectors of different versions are not comparable. */
export const localModel = "local/feature-hashing-1";

/**
 * Feature hashing: each word, its prefix and each of its trigrams add to one dimension; the vector is normalised to
 * length 1. Needs no model; texts that share words or parts of words are close.
 */
export function hashEmbedding(text: string, dimension: number): number[] {
  const vector = new Array<number>(dimension).fill(0);
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word, count] of counts) {
    // A repeated word adds little more than a single one.
    const weight = (1 + Math.log(count)) * (commonWords.has(word) ? 0.1 : 1);
    add(vector, fnv1a(word), weight);
    addLetters(vector, `^${word}$`, weight * 0.6);
  }
  if (words.length === 0) add(vector, fnv1a(text), 1);
  let square = 0;
  for (const value of vector) square += value * value;
  const length = Math.sqrt(square) || 1;
  for (let i = 0; i < dimension; i++) vector[i] = (vector[i] as number) / length;
  return vector;
}

const commonWords = new Set(
  "a an and are as at be but by for from has have how i if in into is it its not of on or our so that the their then there these they this to was we were what when where which who will with you your".split(
    " ",
  ),
);

/** The trigrams of a word, each as a feature: `#` and the letters. */
function addLetters(vector: number[], word: string, weight: number): void {
  // Start of each letter: a letter beyond 16 bits takes two units.
  const starts: number[] = [];
  for (let i = 0; i < word.length; i++) {
    starts.push(i);
    if ((word.codePointAt(i) as number) > 0xffff) i++;
  }
  starts.push(word.length);
  const letters = starts.length - 1;
  const gram = weight / Math.sqrt(Math.max(1, letters - 2));
  for (let i = 0; i + 3 <= letters; i++) add(vector, mix(hashInto(hashOfSharp, word, starts[i] as number, starts[i + 3])), gram);
}

function add(vector: number[], hash: number, weight: number): void {
  const at = (hash >>> 1) % vector.length;
  vector[at] = (vector[at] as number) + (hash & 1 ? weight : -weight);
}

/** FNV-1a over UTF-16 units with a final mix, so similar features land far apart. */
const fnv1a = (text: string): number => mix(hashInto(basis, text));

const basis = 0x811c9dc5;
function hashInto(from: number, text: string, start = 0, end = text.length): number {
  let hash = from;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}
const hashOfSharp = hashInto(basis, "#");

function mix(from: number): number {
  let hash = from;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
