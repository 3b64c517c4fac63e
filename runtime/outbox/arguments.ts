import type { Parameters } from "../tools/registered-tool.ts";

/** Parameters that name things at a platform. Only secrets are removed from them. */
const identifiers = new Set("issue project transition color id key url name label labels state status number".split(" "));
/** Parameters that count as texts even if they are one word. */
const texts = new Set("body description text message content comment title summary note markdown".split(" "));

interface Rewrites {
  /** For text that people read. */
  readonly text: (text: string) => string;
  /** For all other strings. */
  readonly identifier: (text: string) => string;
}

/**
 * The parameters of a call with every string rewritten. A string without spaces and without a known parameter name is an
 * identifier, not a text.
 */
export function rewriteArguments(input: Parameters, rewrites: Rewrites): Parameters {
  return rewriteObject(input, rewrites, 0);
}

const maxDepth = 100;

function rewriteObject(input: Readonly<Record<string, unknown>>, rewrites: Rewrites, depth: number): Record<string, unknown> {
  const members = Object.entries(input).map(([name, value]) => [name, rewriteValue(name, value, rewrites, depth + 1)] as const);
  return Object.fromEntries(members);
}

function rewriteValue(name: string, value: unknown, rewrites: Rewrites, depth: number): unknown {
  if (typeof value === "string") {
    const called = name.toLowerCase();
    const isText = texts.has(called) || (!identifiers.has(called) && /\s/.test(value.trim()));
    return isText ? rewrites.text(value) : rewrites.identifier(value);
  }
  if (typeof value !== "object" || value === null || depth > maxDepth) return value;
  if (Array.isArray(value)) return value.map((one) => rewriteValue(name, one, rewrites, depth + 1));
  return rewriteObject(value as Record<string, unknown>, rewrites, depth);
}
