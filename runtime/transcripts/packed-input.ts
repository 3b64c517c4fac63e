import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/*
 * A prompt is long, and only read whole. PostgreSQL's own compression hardly shrinks prose of a few KB, so the service compresses it
 * with zstd: to half of that, small enough to stay beside its row.
 */

/** A step as it is read: its input may be packed. */
export type Stored<S> = S & { readonly packed: Uint8Array | null };

/** Less than this is not worth it; more would hold the event loop. Bytes. */
const [smallest, largest] = [1_000, 1_000_000];

/** A step as it is stored: a prompt with its input packed, in base64. */
export function packedStep<S extends { readonly kind: string; readonly input: unknown }>(step: S): S & { packed?: string } {
  if (step.kind !== "prompt" || step.input === null) return step;
  const text = Buffer.from(JSON.stringify(step.input));
  if (text.length < smallest || text.length > largest) return step;
  const params = { [constants.ZSTD_c_compressionLevel]: 3 };
  return { ...step, input: null, packed: zstdCompressSync(text, { params, pledgedSrcSize: text.length }).toString("base64") };
}

/** The step with the input that was stored. */
export function withInput<S extends { readonly input: unknown }>({ packed, ...step }: Stored<S>): S {
  const input = packed === null ? step.input : JSON.parse(zstdDecompressSync(packed).toString());
  return { ...step, input } as unknown as S;
}
