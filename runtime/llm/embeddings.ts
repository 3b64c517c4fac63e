import { Failure } from "../platform/retry.ts";
import { classify, type Endpoint, openAiClient } from "./client.ts";

/** Vectors of texts, in their order. Throws a `Failure` that says whether a retry may succeed. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<number[][]>;

/** An embedding model behind an OpenAI-compatible API. */
export function createEmbed(options: Endpoint & { model: string; dimension: number }): Embed {
  const client = openAiClient(options);
  // The dimension is requested only if the model's own differs, because many models and proxies refuse the parameter.
  let shorten = false;
  const call = async (texts: readonly string[], signal: AbortSignal, shortened: boolean): Promise<number[][]> => {
    try {
      const { model, dimension } = options;
      const answer = await client.embeddings.create(
        { model, input: [...texts], encoding_format: "float", ...(shortened && { dimensions: dimension }) },
        { signal },
      );
      return readVectors(answer as unknown as { data?: unknown }, texts.length);
    } catch (error) {
      throw classify(error, options);
    }
  };
  return async (texts, signal) => {
    const fits = (vectors: number[][]) => vectors.every((vector) => vector.length === options.dimension);
    const withShortening = shorten;
    const vectors = await call(texts, signal, withShortening);
    if (fits(vectors)) return vectors;
    // Tries the opposite of this call's own choice, because concurrent calls may already have changed the shared one.
    const again = await call(texts, signal, !withShortening).catch(() => vectors);
    if (fits(again)) {
      shorten = !withShortening;
      return again;
    }
    const length = vectors[0]?.length;
    const message = `EMBEDDING_DIMENSION is ${options.dimension}, but the vectors of ${options.model} have ${length} dimensions: set EMBEDDING_DIMENSION=${length}.`;
    throw new Failure(message, { retryable: true });
  };
}

/** The largest value in a `halfvec`. Values of models are around 1. */
const maxValue = 65_504;
const isNumber = (value: unknown): boolean => Number.isFinite(value) && Math.abs(value as number) <= maxValue;

function readVectors(answer: { data?: unknown }, count: number): number[][] {
  const data = Array.isArray(answer?.data) ? (answer.data as { index?: unknown; embedding?: unknown }[]) : [];
  // Not an array: with a number like 4,000,000,000, reading it would take minutes.
  const byNumber = new Map<number, number[]>();
  for (const [i, one] of data.entries()) {
    const { embedding, index } = one ?? {};
    const valid = Array.isArray(embedding) && embedding.length > 0 && embedding.every(isNumber);
    if (valid) byNumber.set(typeof index === "number" ? index : i, embedding);
  }
  const vectors = Array.from({ length: count }, (_, i) => byNumber.get(i)).filter((vector) => vector !== undefined);
  if (vectors.length === count && byNumber.size === count) return vectors;
  throw new Failure(`The embedding model returned ${byNumber.size} vectors for ${count} texts.`, { retryable: true });
}
