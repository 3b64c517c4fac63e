import { withoutHiddenMarkup } from "./hidden-markup.ts";
import { withoutInvisible } from "./invisible.ts";
import { withoutRoleTokens } from "./role-tokens.ts";

/**
 * A text from outside as a model may read it: what people see, and nothing else. What it takes out, and why, is in
 * `runtime/README.md`. Every text from outside passes it before a model reads it. Takes linear time.
 */
export function cleanText(text: string): string {
  const shown = withoutInvisible(text);
  const visible = withoutHiddenMarkup(shown);
  return withoutRoleTokens(visible);
}

/** Whether people see anything of a text. */
export const hasVisibleText = (text: string): boolean =>
  /[\p{L}\p{N}\p{P}\p{S}]/u.test(withoutHiddenMarkup(withoutInvisible(text)));

/** The same for one line: a name, a title, an identifier. */
export const cleanLine = (text: string, maxLength = 500): string =>
  cleanText(text.slice(0, maxLength).toWellFormed()).replace(/\s+/g, " ").trim();

/** Longest string of a JSON value that is looked at: no model is shown more of it. */
const maxStringLength = 60_000;
const maxDepth = 200;

/** The same for every string of a JSON value, names of members included. */
export function cleanJson(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return cleanText(value.length > maxStringLength ? cut(value) : value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > maxDepth) return null;
  if (Array.isArray(value)) return value.map((one) => cleanJson(one, depth + 1));
  const entries = Object.entries(value).map(([name, member]) => [cleanLine(name), cleanJson(member, depth + 1)] as const);
  return Object.fromEntries(entries);
}

const cut = (text: string): string => `${text.slice(0, maxStringLength).toWellFormed()} [cut: ${text.length} characters in all]`;
