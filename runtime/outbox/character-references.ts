import { invisibleNames } from "../untrusted/entities.ts";

interface Reference {
  /** Position after it. */
  readonly to: number;
  /** The characters that readers see. */
  readonly text: string;
}

/** The reference that begins at an ampersand, with the characters that readers see; encoded any number of times: `&amp;amp;#95;`. */
export function referenceAt(text: string, at: number): Reference | null {
  let ampersandTo: number | null = null;
  for (;;) {
    const from: number = ampersandTo ?? at + 1;
    const found: Reference | null = text[from] === "#" ? numberedAt(text, from + 1) : namedAt(text, from);
    if (found === null) return ampersandTo === null ? null : { to: ampersandTo, text: "&" };
    if (found.text !== "&" || text[found.to - 1] !== ";") return found;
    ampersandTo = found.to;
  }
}

/** Also without the semicolon, which browsers do not require. */
function numberedAt(text: string, at: number): Reference | null {
  const isHex = text[at] === "x" || text[at] === "X";
  const from = isHex ? at + 1 : at;
  let to = from;
  let point = 0;
  for (; ; to++) {
    const digit = digitOf(text.charCodeAt(to), isHex);
    if (digit < 0) break;
    point = Math.min(point * (isHex ? 16 : 10) + digit, 0x110000);
  }
  const isCharacter = to > from && point > 0 && point < 0x110000 && !(point >= 0xd800 && point <= 0xdfff);
  return isCharacter ? { to: text[to] === ";" ? to + 1 : to, text: String.fromCodePoint(point) } : null;
}

/** -1 if it is no digit. */
function digitOf(code: number, isHex: boolean): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return isHex && letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function namedAt(text: string, from: number): Reference | null {
  let to = from;
  while (to - from < maxName && isLetter(text.charCodeAt(to))) to++;
  if (text[to] !== ";") return null;
  const sign = named.get(text.slice(from, to));
  return sign === undefined ? null : { to: to + 1, text: sign };
}

const isLetter = (code: number): boolean => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;

/** The named references to the characters that keys and other secrets contain. */
const named = new Map([
  ...(
    'excl! quot" QUOT" num# dollar$ percnt% amp& AMP& apos\' lpar( rpar) ast* midast* plus+ comma, hyphen- dash- period. sol/ colon: ' +
    "semi; lt< LT< equals= gt> GT> quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ UnderBar_ grave` " +
    "DiacriticalGrave` lcub{ lbrace{ verbar| vert| VerticalLine| rcub} rbrace}"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, -1), entry.slice(-1)] as const),
  // Readers do not see these.
  ...[...invisibleNames].map((name) => [name, ""] as const),
]);
const maxName = 31;
