import { deflateRawSync, inflateRawSync, zstdDecompressSync } from "node:zlib";
import { payloads1 } from "./payloads-1.ts";
import { prompts1 } from "./prompts-1.ts";

/*
 * Texts of a few KB, of which most are alike: payloads of trackers, prompts. PostgreSQL's own compression, which knows nothing of
 * other rows, hardly shrinks them. Deflate with a dictionary of what they have in common takes half as much.
 *
 * A packed text begins with the number of its dictionary. No text that is stored unpacked begins with such a byte, so both can be
 * in one column. A dictionary is never changed or removed, because stored texts need it: a better one gets a new number. It may be used
 * for writing one release after the first that has it, so that replicas of the release before can read what those of the next one wrote.
 */
const dictionaries = { 1: Buffer.from(payloads1), 2: Buffer.from(prompts1) } as const;

/** What a text is, and so the number of its dictionary. */
export const kinds = { payload: 1, prompt: 2 } as const satisfies Record<string, keyof typeof dictionaries>;

/** Less than this is not worth it; more would hold the event loop: the worst text of 100 KB takes 3 ms. Bytes. */
const [smallest, largest] = [200, 100_000];

/** A UTF-8 text, packed; `undefined` if it is better stored as it is. */
export function pack(kind: keyof typeof kinds, text: Uint8Array): Buffer | undefined {
  if (text.length < smallest || text.length > largest) return undefined;
  const number = kinds[kind];
  const packed = deflateRawSync(text, { dictionary: dictionaries[number], level: 3 });
  return packed.length + 1 < text.length ? Buffer.concat([Buffer.of(number), packed]) : undefined;
}

const dictionaryOf = ([number = 0]: Uint8Array): Buffer | undefined => dictionaries[number as keyof typeof dictionaries];

/** Whether the bytes are those of `pack`. */
export const isPacked = (bytes: Uint8Array): boolean => dictionaryOf(bytes) !== undefined;

const zstd = 0x28;

/** The text of a stored value, packed or not. */
export function unpack(stored: Uint8Array): Uint8Array {
  const dictionary = dictionaryOf(stored);
  if (dictionary) return inflateRawSync(stored.subarray(1), { dictionary });
  // Prompts were compressed with zstd before.
  return stored[0] === zstd ? zstdDecompressSync(stored) : stored;
}
