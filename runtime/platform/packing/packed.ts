import { deflateRawSync, inflateRawSync } from "node:zlib";
import { payloads1 } from "./payloads-1.ts";
import { prompts1 } from "./prompts-1.ts";

/*
 * Compression of similar texts of a few KB, such as payloads of trackers and prompts. PostgreSQL's own compression, which ignores
 * other rows, hardly shrinks them. Deflate with a dictionary of their common parts needs half as much. A packed text begins with
 * the number of its dictionary, which is below 9. A text that is stored unpacked is JSON, which never begins with such a byte, so
 * one column can contain both.
 *
 * Stored texts need their dictionaries, so a dictionary is never changed or removed; a better one gets a new number. The release
 * that adds a dictionary only reads with it, and the next release writes with it: during a rolling upgrade, replicas of the older
 * release can read the texts that replicas of the newer one write.
 */
const headerBytes = 5;
const dictionaries = { 1: storedBlock(payloads1), 2: storedBlock(prompts1) } as const;

/** A text as an uncompressed deflate block that is not the last one; at most 65,535 bytes. */
function storedBlock(text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16LE(bytes.length, 1);
  header.writeUInt16LE(0xffff ^ bytes.length, 3);
  return Buffer.concat([header, bytes]);
}

/** The kind of a text, which determines the number of its dictionary. */
export const kinds = { payload: 1, prompt: 2 } as const satisfies Record<string, keyof typeof dictionaries>;
export type Kind = keyof typeof kinds;

/** In bytes. Packing a shorter text saves too little. Packing a longer one blocks the event loop: 100 KB take up to 3 ms. */
const [smallest, largest] = [200, 100_000];

/**
 * How thoroughly deflate searches. 6 saves 4 to 9 % more than 3 but takes up to four times as long, so a long text gets 3. So does a
 * payload: each webhook is packed before it is answered, most start nothing, and payloads are removed first.
 */
const levelFor = (kind: Kind, bytes: number) => (kind === "prompt" && bytes <= 16_000 ? 6 : 3);

/** Bytes for which deflate reserves memory at a time. Most packed texts are shorter; the default of 16 KB takes a tenth longer. */
const chunkSize = 4_096;

/** A packed UTF-8 text; `undefined` if it is better stored unpacked. */
export function pack(kind: Kind, text: Uint8Array): Buffer | undefined {
  if (text.length < smallest || text.length > largest) return undefined;
  const number = kinds[kind];
  // Deno ignores the dictionary. The result is longer and `unpack` reads it all the same, because it refers to nothing in the dictionary.
  const packed = deflateRawSync(text, {
    dictionary: dictionaries[number].subarray(headerBytes),
    level: levelFor(kind, text.length),
    chunkSize,
  });
  return packed.length + 1 < text.length ? Buffer.concat([Buffer.of(number), packed]) : undefined;
}

/** Whether `pack` of any release created the bytes. */
export const isPacked = ([first = 9]: Uint8Array): boolean => first < 9;

/**
 * The text of a stored value, packed or not. Throws if the value is damaged, or packed with a dictionary that this release does
 * not have.
 */
export function unpack(stored: Uint8Array): Uint8Array {
  if (!isPacked(stored)) return stored;
  const dictionary = dictionaries[stored[0] as keyof typeof dictionaries];
  if (!dictionary)
    throw new Error(
      `The text is packed with dictionary ${stored[0]}, which this release does not have. Run the release that stored it.`,
    );
  // Deno ignores the option `dictionary` here too, so the dictionary is the first block of the data.
  const bytes = inflateRawSync(Buffer.concat([dictionary, stored.subarray(1)]));
  return bytes.subarray(dictionary.length - headerBytes);
}
