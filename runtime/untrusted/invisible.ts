/** Whether a text contains any character that `withoutInvisible` checks. */
const suspiciousCharacters = new RegExp(
  [
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f]",
    "[\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\udb40-\\udb43]",
    "\\ud82f[\\udca0-\\udca3]|\\ud834[\\udd73-\\udd7a]",
  ].join("|"),
);

const [zwnj, zwj, ansi] = [0x200c, 0x200d, 0x1b];
/** The flags that emoji tag sequences exist for. Any other sequence of tag characters carries text that people do not see. */
const flags = ["gbeng", "gbsct", "gbwls"].map(
  (name) => `\u{1F3F4}${[...name].map((sign) => String.fromCodePoint(0xe0000 + sign.charCodeAt(0))).join("")}\u{E007F}`,
);

/**
 * The text without invisible characters: control, zero-width, bidi and tag characters, and variation selectors without effect.
 * Joiners and selectors that emoji and scripts need remain, one at a time. Line ends become `\n`; `keepsCrlf`: Windows line ends
 * are kept. Takes linear time.
 */
export function withoutInvisible(text: string, { keepsCrlf = false } = {}): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return suspiciousCharacters.test(whole) ? filterCharacters(whole, keepsCrlf) : whole;
}

function filterCharacters(text: string, keepsCrlf: boolean): string {
  const out = new Uint16Array(text.length);
  let length = 0;
  /** The last code point that was kept, and the last one that is not a selector. */
  let last = 0;
  let base = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if ((code >= 0x20 && code < 0x7f) || code === 0x0a || code === 0x09) {
      out[length++] = last = base = code;
      at++;
      continue;
    }
    // Most characters of all scripts.
    if (code < 0xd800 && plain[code] === 1) {
      out[length++] = last = base = code;
      at++;
      continue;
    }
    // Tag characters, and the characters that have no meaning next to them.
    if (code >= 0xdb40 && code <= 0xdb43 && !isSelector(text.codePointAt(at) ?? 0)) {
      at += 2;
      continue;
    }
    const flag = code === 0xd83c ? flags.find((one) => text.startsWith(one, at)) : undefined;
    const point = text.codePointAt(at) ?? 0;
    const size = flag?.length ?? (point > 0xffff ? 2 : 1);
    if (point === 0x0d || point === 0x2028 || point === 0x2029) {
      if (text.charCodeAt(at + 1) !== 0x0a) out[length++] = last = base = 0x0a;
      else if (keepsCrlf && point === 0x0d) out[length++] = last = base = point;
    } else if (point === ansi) {
      at = endOfAnsi(text, at);
      continue;
    } else if (flag || isShown(point, last, base, text.charCodeAt(at + 1))) {
      for (let n = 0; n < size; n++) out[length++] = text.charCodeAt(at + n);
      last = point;
      if (!isSelector(point)) base = point;
    }
    at += size;
  }
  return decode(out.subarray(0, length));
}

const decoder = new TextDecoder("utf-16le", { ignoreBOM: true });
const decode = (units: Uint16Array<ArrayBuffer>): string => decoder.decode(units);

/** Maximum length of a terminal sequence that is removed as a whole. */
const maxAnsiLength = 64;

/** Position after an escape sequence of a terminal: `ESC [ 31 m`. */
function endOfAnsi(text: string, at: number): number {
  if (text[at + 1] !== "[") return at + 1;
  for (let end = at + 2; end < at + maxAnsiLength; end++) {
    const code = text.charCodeAt(end);
    if (code >= 0x40 && code <= 0x7e) return end + 1;
    if (!(code >= 0x20 && code < 0x40)) break;
  }
  return at + 1;
}

function isShown(point: number, last: number, base: number, next: number): boolean {
  if (point === zwj || point === zwnj) return joins(point, last, base, next);
  if (isSelector(point)) return selects(point, last, next);
  return (point >= 0x1e000 && point < 0xe0000 && (point & 0xfffe) !== 0xfffe) || !isInvisible(point);
}

/** Kept only after the character that they belong to, and never two in a row. */
function joins(point: number, last: number, base: number, next: number): boolean {
  if (point === zwj && last !== zwj && next >= 0x2000 && isIn(pictographs, base)) return true;
  return last < 0x1e000 && isIn(joiningScripts, last);
}

const isSelector = (point: number): boolean =>
  (point >= 0xfe00 && point <= 0xfe0f) || (point >= 0xe0100 && point <= 0xe01ef) || (point >= 0x180b && point <= 0x180f);

function selects(point: number, last: number, next: number): boolean {
  if (point === 0xfe0e || point === 0xfe0f) return isIn(pictographs, last) || (next === 0x20e3 && isKey(last));
  if (point >= 0x180b && point <= 0x180f) return point !== 0x180e && last >= 0x1820 && last <= 0x18aa;
  if (point <= 0xfe02) return isIn(ideographs, last) || isIn(operators, last);
  return point >= 0xe0100 && isIn(ideographs, last);
}

/** A key of a telephone, which U+20E3 turns into an emoji. */
const isKey = (point: number): boolean => (point >= 0x30 && point <= 0x39) || point === 0x23 || point === 0x2a;

type Ranges = readonly (readonly [number, number])[];
const isIn = (ranges: Ranges, point: number): boolean => ranges.some(([from, to]) => point >= from && point <= to);

const invisibleRanges: Ranges = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];
/** 1 for the code units that need no further check. */
const plain = new Uint8Array(0xd800).fill(1);
for (const [from, to] of invisibleRanges) plain.fill(0, Math.min(from, 0xd800), Math.min(to + 1, 0xd800));
const isInvisible = (point: number): boolean => (point & 0xfffe) === 0xfffe || isIn(invisibleRanges, point);

/**
 * Scripts in which joiners change the visible text: Arabic and related scripts, the scripts of India and South-East Asia,
 * Mongolian.
 */
const joiningScripts: Ranges = [
  [0x0600, 0x0dff],
  [0x0f00, 0x109f],
  [0x1780, 0x18af],
  [0x1a20, 0x1cff],
  [0xa840, 0xa8ff],
  [0xa980, 0xa9df],
  [0xaa60, 0xaa7f],
  [0xfb50, 0xfdff],
  [0xfe70, 0xfefc],
  [0x10a00, 0x10fff],
  [0x11000, 0x11fff],
];
const pictographs: Ranges = [
  [0x1f000, 0x1faff],
  [0x2190, 0x21ff],
  [0x2300, 0x23ff],
  [0x24c2, 0x24c2],
  [0x25a0, 0x27bf],
  [0x2900, 0x297f],
  [0x2b00, 0x2bff],
  [0xa9, 0xa9],
  [0xae, 0xae],
  [0x203c, 0x203c],
  [0x2049, 0x2049],
  [0x2122, 0x2122],
  [0x2139, 0x2139],
  [0x3030, 0x303d],
  [0x3297, 0x3299],
];
const ideographs: Ranges = [
  [0x3400, 0x9fff],
  [0xf900, 0xfaff],
  [0x20000, 0x3ffff],
];
const operators: Ranges = [
  [0x2200, 0x22ff],
  [0x2a00, 0x2aff],
];
