import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { roundDollars } from "../platform/dollars.ts";
import { messageOf } from "../platform/error-text.ts";
import type { Report } from "../platform/log.ts";

const rate = z.number().min(0).max(1_000_000);
/** US dollars per million tokens: one price for both directions, or one for each. */
const price = z.union([rate, z.strictObject({ input: rate, output: rate }), z.strictObject({ prompt: rate, completion: rate })]);
const prices = z.record(z.string().min(1), price);

/** The cost of a model, if the proxy does not report it. */
export interface Prices {
  /** US dollars; `null` for a model without a price. */
  of(model: string, promptTokens: number, completionTokens: number): number | null;
  /** Warns, once an hour per model, that cost budgets do not count its requests. */
  reportUnpriced(model: string): void;
}

const reportEveryMs = 3_600_000;
/** Maximum number of models that are remembered, because proxies can report any name. */
const maxReportedModels = 1_000;

/**
 * Reads `MODEL_PRICES`: JSON, or the path of a JSON file. A name that ends with `*` is a prefix. Throws an Error with the reason.
 */
export function readPrices(text: string | undefined, warn: Report = () => {}): Prices {
  const prices = text === undefined ? {} : parse(text);
  const lastReports = new Map<string, number>();
  const prefixes = Object.keys(prices)
    .filter((name) => name.endsWith("*"))
    .sort((a, b) => b.length - a.length);
  return {
    of: (model, promptTokens, completionTokens) => {
      const name = Object.hasOwn(prices, model) ? model : prefixes.find((prefix) => model.startsWith(prefix.slice(0, -1)));
      const price = name === undefined ? undefined : prices[name];
      if (price === undefined) return null;
      const [input, output] =
        typeof price === "number"
          ? [price, price]
          : "input" in price
            ? [price.input, price.output]
            : [price.prompt, price.completion];
      return roundDollars((promptTokens * input + completionTokens * output) / 1_000_000);
    },
    reportUnpriced: (model) => {
      const now = performance.now();
      const last = lastReports.get(model);
      if (last !== undefined && now - last < reportEveryMs) return;
      if (lastReports.size >= maxReportedModels) lastReports.clear();
      lastReports.set(model, now);
      const reason = "the proxy reports no cost, and MODEL_PRICES has no price";
      warn("budgets in US dollars do not count a model without a price", { model, reason });
    },
  };
}

function parse(text: string): z.output<typeof prices> {
  const inline = text.trimStart().startsWith("{");
  if (!inline && !existsSync(text)) throw new Error("is neither JSON nor the path of a file");
  let value: unknown;
  try {
    value = JSON.parse(inline ? text : readFileSync(text, "utf8"));
  } catch (error) {
    throw new Error(`is not valid JSON: ${messageOf(error)}`);
  }
  const parsed = prices.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(
    `must map models to US dollars per million tokens, for example {"gpt-4o": {"input": 2.5, "output": 10}}; wrong at "${issue?.path.join(".")}"`,
  );
}
