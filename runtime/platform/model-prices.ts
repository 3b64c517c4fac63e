import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import { messageOf } from "./error-text.ts";

const rate = z.number().min(0).max(1_000_000);
/** US dollars per million tokens: one price for both directions, or one for each. */
const price = z.union([rate, z.strictObject({ input: rate, output: rate }), z.strictObject({ prompt: rate, completion: rate })]);
const prices = z.record(z.string().min(1), price);

/** Prices by model. A name that ends with `*` is a prefix. */
export type ModelPrices = z.output<typeof prices>;

/** The value of `MODEL_PRICES`: JSON, or the path of a JSON file, which is read once. */
export const modelPrices = z.string().transform((text, context): ModelPrices => {
  try {
    return parse(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: messageOf(error) });
    return z.NEVER;
  }
});

/** Throws an Error with the reason. */
function parse(text: string): ModelPrices {
  const isJson = /^[{[]/.test(text.trimStart());
  if (!isJson && !statSync(text, { throwIfNoEntry: false })?.isFile()) throw new Error("must be JSON or the path of a JSON file");
  const json = isJson ? text : readFileSync(text, "utf8");
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
