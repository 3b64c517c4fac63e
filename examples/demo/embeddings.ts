import { createHash } from "node:crypto";
import { tokensOf } from "./chat.ts";

/** The body of `POST /v1/embeddings`. */
export interface EmbeddingsRequest {
  readonly model: string;
  readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
  readonly dimensions?: number;
  /** OpenAI's own clients request `base64`: little-endian 32-bit floats. */
  readonly encoding_format?: "float" | "base64";
}

/** Answers in OpenAI's format, with 400 for invalid input. */
export function embeddings(request: EmbeddingsRequest): Response {
  const inputs = typeof request.input === "string" ? [request.input] : request.input;
  const texts = Array.isArray(inputs) ? inputs.map((input) => (typeof input === "string" ? input : JSON.stringify(input))) : [];
  const dimensions = request.dimensions ?? 1536;
  if (texts.length === 0 || texts.length > 2048 || texts.some((text) => text === "")) {
    return refusal(
      "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.",
      "input",
    );
  }
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > 65_536)
    return refusal(`Invalid 'dimensions': ${dimensions}.`, "dimensions");
  const data = texts.map((text, index) => {
    const vector = embed(text, dimensions);
    const embedding = request.encoding_format === "base64" ? Buffer.from(vector.buffer).toString("base64") : [...vector];
    return { object: "embedding", index, embedding };
  });
  const prompt_tokens = texts.reduce((sum, text) => sum + tokensOf(text), 0);
  return Response.json({ object: "list", data, model: request.model, usage: { prompt_tokens, total_tokens: prompt_tokens } });
}

/** Feature hashing of words and their trigrams, normalised to length 1. */
export function embed(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words) {
    add(vector, word, 1);
    for (let i = 0; i + 3 <= word.length; i++) add(vector, `#${word.slice(i, i + 3)}`, 0.3);
  }
  if (words.length === 0) add(vector, text, 1);
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

function add(vector: Float32Array, feature: string, weight: number): void {
  const digest = createHash("md5").update(feature).digest();
  const at = digest.readUInt32LE(0) % vector.length;
  vector[at] = (vector[at] ?? 0) + (digest.readUInt8(4) & 1 ? weight : -weight);
}

const refusal = (message: string, param: string): Response =>
  Response.json({ error: { message, type: "invalid_request_error", param, code: null } }, { status: 400 });
