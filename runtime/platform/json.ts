/** Maximum nesting depth of a JSON text from outside. */
export const maxDepth = 200;

const [quote, comma, colon, backslash, open, close] = [34, 44, 58, 92, [91, 123], [93, 125]] as const;
const [tab, newline, carriageReturn, space] = [9, 10, 13, 32] as const;

/** Whether arrays and objects in a JSON text are nested deeper than `depthLimit`. Stops there, and creates no objects. */
export function isDeeperThan(depthLimit: number, utf8: Uint8Array): boolean {
  if (!hasMoreThan(depthLimit, utf8, open)) return false;
  let depth = 0;
  for (let i = 0; i < utf8.length; i++) {
    const byte = utf8[i];
    if (byte === quote) i = endOfString(utf8, i);
    else if (byte === open[0] || byte === open[1]) {
      if (++depth > depthLimit) return true;
    } else if (byte === close[0] || byte === close[1]) depth--;
  }
  return false;
}

/** Whether a text contains some bytes more than `most` times, including those in strings. This check is fast. */
function hasMoreThan(most: number, utf8: Uint8Array, bytes: readonly number[]): boolean {
  let count = 0;
  for (const byte of bytes) {
    for (let at = utf8.indexOf(byte); at >= 0; at = utf8.indexOf(byte, at + 1)) if (++count > most) return true;
  }
  return false;
}

/** Maximum number of members and list items in a JSON text whose values are validated or stored one by one, which costs time. */
export const maxValues = 30_000;

/** Whether a JSON text has more members and list items than `most`. Creates no objects. */
export function hasMoreValuesThan(most: number, utf8: Uint8Array): boolean {
  // Each value follows a comma or an opening bracket.
  if (!hasMoreThan(most, utf8, [comma, ...open])) return false;
  const counter = new ValueCounter();
  counter.add(utf8);
  return counter.values > most;
}

/** Maximum number of members of one object in such a text: validating them takes much longer than that many list items. */
export const maxMembers = 10_000;

/** Whether one object in a JSON text has more members than `memberLimit`. Creates no objects. */
export function hasWiderObjectThan(memberLimit: number, utf8: Uint8Array): boolean {
  if (!hasMoreThan(memberLimit, utf8, [colon])) return false;
  /** The members of each object that is open. A colon outside of strings belongs to the innermost one. */
  const members: number[] = [];
  for (let i = 0; i < utf8.length; i++) {
    const byte = utf8[i];
    if (byte === quote) i = endOfString(utf8, i);
    else if (byte === open[1]) members.push(0);
    else if (byte === close[1]) members.pop();
    else if (byte === colon) {
      const count = (members.pop() ?? 0) + 1;
      if (count > memberLimit) return true;
      members.push(count);
    }
  }
  return false;
}

/** Counts the members and list items in JSON texts that arrive in pieces, also in lines of server-sent events. */
export class ValueCounter {
  values = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether nothing but space has followed an opening bracket yet: an empty list has no values. */
  #isOpened = false;

  add(utf8: Uint8Array): void {
    for (let i = 0; i < utf8.length; i++) {
      const byte = utf8[i] as number;
      if (byte === newline || byte === carriageReturn) {
        // No string contains one, so a quote before the JSON of an event hides nothing.
        this.#isInString = false;
        this.#isEscaped = false;
      } else if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === backslash) this.#isEscaped = true;
        else if (byte === quote) this.#isInString = false;
      } else if (byte !== space && byte !== tab) {
        if (this.#isOpened && byte !== close[0] && byte !== close[1]) this.values++;
        this.#isOpened = byte === open[0] || byte === open[1];
        if (byte === quote) this.#isInString = true;
        else if (byte === comma) this.values++;
      }
    }
  }
}

/** Index of the quote that ends the string beginning at `start`. */
export function endOfString(utf8: Uint8Array, start: number): number {
  for (let end = utf8.indexOf(quote, start + 1); end >= 0; end = utf8.indexOf(quote, end + 1)) {
    let first = end;
    while (utf8[first - 1] === backslash) first--;
    if ((end - first) % 2 === 0) return end;
  }
  return utf8.length;
}

/** The text without NUL characters and unpaired surrogates, which PostgreSQL cannot store. */
export const storableText = (text: string): string => text.split("\0").join("\uFFFD").toWellFormed();

/** The beginning of a text as events store it. Truncated first, because truncation can leave an unpaired surrogate. */
export const shortText = (text: string): string => storableText(text.slice(0, maxTextLength));
export const maxTextLength = 500;

/** How JSON writes the characters that PostgreSQL cannot store: it escapes surrogates only if they are unpaired. */
const unstorableEscape = /(?<=(?:^|[^\\])(?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/** The same for every text in a JSON value. Searches its JSON, because copying a large value would block the event loop. */
export function storable<T>(value: T): T {
  if (typeof value === "string") return storableText(value) as T;
  const json = JSON.stringify(value) ?? "";
  return json.search(unstorableEscape) < 0 ? value : JSON.parse(json.replace(unstorableEscape, "\\ufffd"));
}

/** The value of a JSON text; `otherwise` if it is not JSON. */
export function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Why a text is not acceptable JSON: not UTF-8, nested too deeply, or invalid at a position. */
export type JsonFault = { readonly fault: "utf8" | "depth" } | { readonly fault: "syntax"; readonly at: string | null };

const utf8 = new TextDecoder("utf-8", { fatal: true });

export function readJson(bytes: Uint8Array): { readonly value: unknown } | JsonFault {
  // Checked first, because a text of a million brackets is then refused after the first few.
  if (isDeeperThan(maxDepth, bytes)) return { fault: "depth" };
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { fault: "utf8" };
  }
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    // V8 quotes the text around the error, but the sender needs only the position.
    return { fault: "syntax", at: /position \d+( \(line \d+ column \d+\))?/.exec(String(error))?.[0] ?? null };
  }
}
