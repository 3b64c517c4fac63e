import { siblingFile } from "../../platform/sibling-file.ts";
import { SingleWorker } from "../../platform/single-worker.ts";
import { limits } from "./limits.ts";
import type { MeasuredLine } from "./measure-message-worker.ts";
import { costOf, type MessageCost, removeProto } from "./message-cost.ts";

export interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}
export interface Line {
  /** `null` if it is not a valid message. */
  readonly message: Message | null;
  /** Number of values in it, which determines the cost of reading it. */
  readonly values: number;
  /** Why the process that sent it must be ended. */
  readonly refused?: string;
}

const invalidLine: Line = { message: null, values: 1 };

/** Reads a line of at most `limits.shortLine` characters from an untrusted process. */
export function readMessage(line: string): Line {
  try {
    const value: unknown = JSON.parse(line);
    return lineOf(value, costOf(value));
  } catch {
    return invalidLine;
  }
}

const measuring = new SingleWorker<string, MeasuredLine | "invalid">({
  file: siblingFile(import.meta.url, "measure-message-worker"),
  limitMs: limits.measureMs,
  memoryMb: 512,
});

/** Reads a longer line. Another thread measures it first, because some JSON takes seconds to parse. */
export async function readLongMessage(line: string): Promise<Line> {
  const cost = await measuring.ask(line).catch(() => "slow" as const);
  if (cost === "invalid") return invalidLine;
  if (cost === "slow") return { ...invalidLine, refused: "it sent a message that takes too long to read" };
  if (cost.values > limits.values) return { ...invalidLine, refused: `it sent a message of more than ${limits.values} values` };
  if (cost.keys > limits.keys)
    return { ...invalidLine, refused: `it sent a message with more than ${limits.keys} different keys` };
  if (cost.weight > limits.values)
    return { ...invalidLine, refused: "it sent a message with too many different short texts or different objects" };
  return lineOf(JSON.parse(cost.cleaned ?? line), cost);
}

function lineOf(value: unknown, cost: MessageCost): Line {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return invalidLine;
  if (cost.depth > limits.depth) return { message: tooDeep(value), values: limits.values };
  if (cost.hasProto) removeProto(value);
  return { message: value, values: cost.values };
}

/** The caller gets an error immediately instead of waiting for the deadline. */
const tooDeep = ({ id, method }: Message): Message | null =>
  method === undefined ? { id, error: { message: `its answer is nested deeper than ${limits.depth} levels` } } : null;
