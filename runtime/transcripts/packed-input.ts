import { pack, unpack } from "../platform/packing/packed.ts";

/* A prompt is long and only read as a whole. Packed, it is small enough to be stored inside its row. */

/** A step as it is read: its input may be packed. */
export type Stored<S> = S & { readonly packed: Uint8Array | null };

/** A step as it is stored: the input of a prompt is packed, in base64. */
export function packedStep<S extends { readonly kind: string; readonly input: unknown }>(step: S): S & { packed?: string } {
  if (step.kind !== "prompt" || step.input === null) return step;
  const packed = pack("prompt", Buffer.from(JSON.stringify(step.input)));
  return packed ? { ...step, input: null, packed: packed.toString("base64") } : step;
}

/** The step with its original input. */
export function withInput<S extends { readonly input: unknown }>({ packed, ...step }: Stored<S>): S {
  const input = packed === null ? step.input : JSON.parse(Buffer.from(unpack(packed)).toString());
  return { ...step, input } as unknown as S;
}
