import { endOfString, maxDepth } from "./json.ts";

/** A string or number of a JSON text. */
export interface JsonScalar {
  readonly kind: "string" | "number";
  /** The string without escapes, or the number as JavaScript writes it. */
  readonly text: string;
  /** Name of the member whose value it is, or whose value is the array that contains it. */
  readonly name: string;
  /** Whether it is in an array. */
  readonly isItem: boolean;
}

const [quote, colon, backslash, minus, space] = [34, 58, 92, 45, 32] as const;
const [openArray, closeArray, openObject, closeObject] = [91, 93, 123, 125] as const;

/** Maximum number of bytes between two yields, in a text without long strings. */
const bytesPerYield = 65_536;

/**
 * The strings and numbers that are values in a JSON text, in their order, and `null` now and then where there are none. Unlike parsing,
 * this needs no memory for the whole value and can pause anywhere, so it is for texts of any size.
 */
export function* scalarsOf(utf8: Uint8Array): Generator<JsonScalar | null> {
  const arrays = new OpenArrays();
  let name = "";
  let yielded = 0;
  for (let at = 0; at < utf8.length; ) {
    if (at - yielded >= bytesPerYield) {
      yielded = at;
      yield null;
    }
    const byte = utf8[at] as number;
    if (byte === quote) {
      const end = Math.min(endOfString(utf8, at) + 1, utf8.length);
      const text = textOf(utf8.subarray(at, end));
      at = end;
      while (at < utf8.length && (utf8[at] as number) <= space) at++;
      if (utf8[at] === colon) name = text;
      else {
        yield { kind: "string", text, ...arrays.place(name) };
        name = "";
      }
    } else if (byte === minus || isDigit(byte)) {
      const start = at;
      while (at < utf8.length && isPartOfNumber(utf8[at] as number)) at++;
      yield { kind: "number", text: String(Number(bytesToText(utf8.subarray(start, at)))), ...arrays.place(name) };
      name = "";
    } else {
      arrays.add(byte, name);
      if (byte > space && byte !== colon) name = "";
      at++;
    }
  }
}

/** The names of the arrays that are open at a position. */
class OpenArrays {
  /** One for each open array and object; empty for an object. */
  readonly #names: string[] = [];
  #depth = 0;

  add(byte: number, name: string): void {
    if (byte === openArray || byte === openObject) {
      const own = byte === openArray ? this.place(name).name : "";
      if (++this.#depth <= maxDepth) this.#names[this.#depth] = own;
    } else if ((byte === closeArray || byte === closeObject) && this.#depth > 0) this.#depth--;
  }

  /** `name`: of the member that begins here; empty if none does. */
  place(name: string): Pick<JsonScalar, "name" | "isItem"> {
    return name === "" ? { name: this.#names[this.#depth] ?? "", isItem: true } : { name, isItem: false };
  }
}

const isDigit = (byte: number) => byte >= 48 && byte <= 57;
/** Digits, `+`, `-`, `.`, `E` and `e`. */
const isPartOfNumber = (byte: number) => isDigit(byte) || [43, 45, 46, 69, 101].includes(byte);

const bytesToText = (utf8: Uint8Array) => Buffer.from(utf8.buffer, utf8.byteOffset, utf8.byteLength).toString();

/** The string that a literal means, also if it is truncated. */
function textOf(literal: Uint8Array): string {
  const text = bytesToText(literal);
  if (!literal.includes(backslash)) return text.slice(1, -1);
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1);
  }
}
