/**
 * Reads what somebody else wrote. Only own members count: a payload with a member `__proto__`, or one that asks for
 * `constructor`, finds nothing that it did not bring itself.
 */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let here = value;
  for (const name of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, name)) return undefined;
    here = (here as Record<string, unknown>)[name];
  }
  return here;
}

export const hasMember = (value: unknown, name: string): boolean => valueAt(value, name) !== undefined;

/** PostgreSQL refuses NUL and lone surrogates in text, JSON allows both. */
export const sanitizeText = (text: string): string => text.replaceAll("\u0000", "\uFFFD").toWellFormed();

/** The first `limit` UTF-16 units, never half a character. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

/** A string that is not blank, cleaned, at most `limit` long; else `null`. */
export function stringAt(value: unknown, path: readonly string[], limit = 1000): string | null {
  const found = valueAt(value, ...path);
  return typeof found === "string" && found.trim() !== "" ? sanitizeText(truncate(found, limit)) : null;
}

/** A moment as ISO 8601 in UTC; `null` for what is none. */
export function timestampAt(value: unknown, ...path: readonly string[]): string | null {
  const found = valueAt(value, ...path);
  if (typeof found !== "string" || found.length > 40 || !/^\d{4}-\d\d-\d\d/.test(found)) return null;
  const time = Date.parse(found);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
