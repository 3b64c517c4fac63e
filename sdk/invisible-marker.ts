import { createHash } from "node:crypto";

/**
 * A marker for formats that have no comments, such as rich text: characters without width in front of the text. They
 * spell a signature and a digest of the key, three bits each.
 */
const signs = ["\u200B", "\u200C", "\u200D", "\u2060", "\u2061", "\u2062", "\u2063", "\u2064"];
const signature = "\u2063\u2060\u2064\u2061";
const digits = 22;
const shape = new RegExp(`^\\s*${signature}[${signs.join("")}]{${digits}}`);

/** The characters to put in front of a text that carries `key`. */
export function invisibleMarker(key: string): string {
  const digest = createHash("sha256").update(key).digest();
  const bits = [...digest.subarray(0, 9)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (
    signature + Array.from({ length: digits }, (_, at) => signs[Number.parseInt(bits.slice(at * 3, at * 3 + 3), 2)]).join("")
  );
}

/** Whether a text begins with the invisible marker of `key`, or of any key where none is given. */
export function hasInvisibleMarker(text: string, key?: string): boolean {
  return key === undefined ? shape.test(text) : text.trimStart().startsWith(invisibleMarker(key));
}

/** A text without any of our invisible markers: what a model wrote must not carry one, and no reader needs it. */
export const stripInvisibleMarker = (text: string): string =>
  text.replaceAll(new RegExp(`${signature}[${signs.join("")}]{0,${digits}}`, "g"), "");
