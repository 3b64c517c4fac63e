import { parentPort } from "node:worker_threads";
import { limits } from "./limits.ts";
import { costOf, estimateValues, type MessageCost } from "./message-cost.ts";

// The thread that parses long messages of plugins before the main thread does, to measure their cost.

parentPort?.on("message", (line: string) => {
  try {
    const values = estimateValues(line);
    const tooMany: MessageCost = { values, keys: 0, depth: 0, hasProto: false };
    parentPort?.postMessage(values > limits.values ? tooMany : costOf(JSON.parse(line)));
  } catch {
    parentPort?.postMessage("invalid");
  }
});
