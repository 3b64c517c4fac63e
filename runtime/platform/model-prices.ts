import { existsSync } from "node:fs";
import { z } from "zod";
import { ConfigError } from "./environment.ts";
import { messageOf } from "./error-text.ts";
import { readRegularFile } from "./regular-file.ts";

const rate = z.number().min(0).max(1_000_000);
/** US dollars per million tokens: one price for both directions, or one for each. */
const price = z.union([rate, z.strictObject({ input: rate, output: rate }), z.strictObject({ prompt: rate, completion: rate })]);
const prices = z.record(z.string().min(1), price);

/** Prices by model. A name that ends with `*` is a prefix. */
export type ModelPrices = z.output<typeof prices>;

const isJson = (text: string): boolean => /^[{[]/.test(text.trimStart());

/** The value of `MODEL_PRICES`: JSON, or the path of a JSON file. Only the service reads the file; other commands may not have it. */
export const modelPrices = z.string().superRefine((text, context) => {
  if (!isJson(text)) return;
  try {
    parse(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
});

/** Reads `MODEL_PRICES`. Throws a `ConfigError`. */
export function readModelPrices(text: string): ModelPrices {
  try {
    if (isJson(text)) return parse(text);
    if (!existsSync(text)) throw new Error("must be JSON or the path of a JSON file");
    return parse(readRegularFile(text).toString("utf8"));
  } catch (error) {
    throw new ConfigError(`MODEL_PRICES: ${messageOf(error)}`);
  }
}

/** Throws an Error with the reason. */
function parse(json: string): ModelPrices {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(`must be valid JSON (${messageOf(error)})`);
  }
  const parsed = prices.safeParse(value);
  if (parsed.success) return parsed.data;
  const place = parsed.error.issues[0]?.path.join(".");
  throw new Error(
    `must map models to US dollars per million tokens, for example {"gpt-4o": {"input": 2.5, "output": 10}}${place ? `; wrong at "${place}"` : ""}`,
  );
}
