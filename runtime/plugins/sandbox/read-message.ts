import { limits } from "./limits.ts";

export interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}
export interface Line {
  /** `null`: it is no message. */
  readonly message: Message | null;
  /** How many values it holds: what reading it costs. */
  readonly values: number;
}

/** Shorter lines hold too few values to hold up anybody. */
const short = 64 * 1024;

/** Reads a line of a process that is not believed. `null`: it holds more values than one message may, and was not parsed. */
export function readMessage(line: string): Line | null {
  if (line.length > short && marks(line) > limits.values) return null;
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { message: null, values: 1 };
    const values = walk(value);
    return values === null ? { message: tooDeep(value), values: limits.values } : { message: value, values };
  } catch {
    return { message: null, values: 1 };
  }
}

/** Whoever waits for it is told, instead of waiting until the deadline. */
const tooDeep = ({ id, method }: Message): Message | null =>
  method === undefined ? { id, error: { message: `its answer is nested deeper than ${limits.depth} levels` } } : null;

/** Commas and opening brackets outside of strings: about as many as there are values, and a hundred times cheaper to count. */
function marks(line: string): number {
  let found = 0;
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === 34) quoted = !quoted;
    else if (quoted) at += code === 92 ? 1 : 0;
    else if (code === 44 || code === 91 || code === 123) found += 1;
  }
  return found;
}

/**
 * Counts what is in a message; `null` where it is nested deeper than those who walk it recursively can bear. Takes members
 * named `__proto__` away, which an assignment would obey.
 */
function walk(value: object): number | null {
  let values = 1;
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.depth) return null;
    const next: object[] = [];
    for (const one of level) {
      if (Object.hasOwn(one, "__proto__")) Reflect.deleteProperty(one, "__proto__");
      const members: unknown[] = Array.isArray(one) ? one : Object.values(one);
      values += members.length;
      for (const member of members) if (typeof member === "object" && member !== null) next.push(member);
    }
    level = next;
  }
  return values;
}
