import { roundDollars } from "../platform/dollars.ts";
import type { Report } from "../platform/log.ts";
import type { ModelPrices } from "../platform/model-prices.ts";

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

/** The prices of `MODEL_PRICES`. */
export function pricesOf(prices: ModelPrices, warn: Report): Prices {
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
