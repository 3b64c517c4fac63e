import { parentPort } from "node:worker_threads";
import { limits } from "./limits.ts";
import { costOf, estimateValues, type MessageCost, removeProto } from "./message-cost.ts";

// The thread that parses long messages of plugins before the main thread does, to measure their cost.

/** The cost of a line. `cleaned`: the line again if members named `__proto__` were removed from it. */
export type MeasuredLine = MessageCost & { readonly cleaned?: string };

parentPort?.on("message", (line: string) => {
  try {
    parentPort?.postMessage(measure(line));
  } catch {
    parentPort?.postMessage("invalid");
  }
});

function measure(line: string): MeasuredLine {
  const values = estimateValues(line);
  if (values > limits.values) return { values, weight: values, keys: 0, depth: 0, hasProto: false };
  const value: unknown = JSON.parse(line);
  const cost = costOf(value);
  // Here, because it takes longer than parsing.
  if (!cost.hasProto || cost.depth > limits.depth) return cost;
  removeProto(value as object);
  return { ...cost, hasProto: false, cleaned: JSON.stringify(value) };
}
