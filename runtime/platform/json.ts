/** How deep a JSON text may be nested. Deeper ones parse, but overflow the stack when they are written again. */
export const maxDepth = 500;

/** Deepest nesting of arrays and objects in a JSON text, counted without parsing it. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92) i++;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 123 || code === 91) {
      if (++depth > deepest) deepest = depth;
    } else if (code === 125 || code === 93) depth--;
  }
  return deepest;
}

/** A text that PostgreSQL stores: without NUL characters and halves of surrogate pairs. */
export const storableText = (text: string): string => text.replaceAll("\0", "\uFFFD").toWellFormed();

/** The same for every text in a JSON value. */
export function storable<T>(value: T): T {
  if (typeof value === "string") return storableText(value) as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [storableText(name), storable(member)])) as T;
}
