/** A PostgreSQL array of one dimension, from its text: `{a,"b \"c\"",NULL}`. */
export function parseArray<T>(text: string, parse: (element: string) => T): (T | null)[] {
  const elements: (T | null)[] = [];
  // Quoted (group 1), or as it is up to the next comma (group 2).
  for (const [, quoted, plain] of text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs)) {
    if (quoted !== undefined) elements.push(parse(quoted.replace(/\\(.)/gs, "$1")));
    else elements.push(plain === "NULL" ? null : parse(plain as string));
  }
  return elements;
}

export const serializeArray = (elements: readonly unknown[]): string =>
  `{${elements.map((one) => (one === null ? "NULL" : `"${String(one).replace(/["\\]/g, "\\$&")}"`)).join(",")}}`;
