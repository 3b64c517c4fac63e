/** The cost of reading a message, in addition to its length. */
export interface MessageCost {
  readonly values: number;
  /** The number of values, where those that take the engine much longer count as several. */
  readonly weight: number;
  /**
   * Number of keys of all objects. Objects with the same keys in the same order count once, because the engine is slow only for
   * new shapes.
   */
  readonly keys: number;
  /** Levels of nesting. */
  readonly depth: number;
  /** Whether an object has a member named `__proto__`. */
  readonly hasProto: boolean;
}

/** The engine looks up texts up to this length in a table of all such texts, and enters those that are new. */
const shortText = 10;
/** A short text that is not in the table takes as long as three values. */
const newText = 2;
/** Once a message has this many shapes, an object whose shape differs from the one before costs as much as five values more. */
const manyShapes = 500;
const changedShape = 5;

/** Measures parsed JSON, level by level, so that deep nesting does not overflow the stack. */
export function costOf(value: unknown): MessageCost {
  let values = 1;
  let keys = 0;
  let depth = 0;
  let weight = 0;
  let hasProto = false;
  let lastShape = "";
  const shapes = new Set<string>();
  const texts = new Set<string>();
  let level: object[] = typeof value === "object" && value !== null ? [value] : [];
  while (level.length > 0) {
    const next: object[] = [];
    for (const one of level) {
      let members: unknown[];
      if (Array.isArray(one)) members = one;
      else {
        const names = Object.keys(one);
        if (names.includes("__proto__")) hasProto = true;
        const shape = names.join("\0");
        if (!shapes.has(shape)) {
          shapes.add(shape);
          keys += names.length;
        }
        if (shape !== lastShape && shapes.size > manyShapes) weight += changedShape;
        lastShape = shape;
        members = Object.values(one);
      }
      values += members.length;
      for (const member of members) {
        if (typeof member === "string" && member.length <= shortText) texts.add(member);
        else if (typeof member === "object" && member !== null) next.push(member);
      }
    }
    if (level.length > 0) depth += 1;
    level = next;
  }
  return { values, weight: weight + values + newText * texts.size, keys, depth, hasProto };
}

/**
 * The number of commas and opening brackets outside of strings. It is about the number of values, and much faster to count than
 * to parse.
 */
export function estimateValues(line: string): number {
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

/** Deletes the members named `__proto__`, because an assignment of one would change the prototype. */
export function removeProto(value: object): void {
  const left: object[] = [value];
  for (let one = left.pop(); one; one = left.pop()) {
    if (Object.hasOwn(one, "__proto__")) Reflect.deleteProperty(one, "__proto__");
    for (const member of Object.values(one)) if (typeof member === "object" && member !== null) left.push(member);
  }
}
