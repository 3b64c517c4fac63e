/** A title of a link or of its definition, with the blanks before it. */
interface Title {
  readonly from: number;
  readonly to: number;
}
/** What follows `](` or `[label]:`. In a cut text, it is `"open"` if the missing rest decides it. */
interface Target {
  readonly address: string;
  readonly addressEnd: number;
  readonly title: Title | null;
}
interface LinkTail extends Target {
  readonly end: number;
}
export interface Definition extends Target {
  readonly label: string;
  readonly end: number;
}

/** Maximum length of a label in CommonMark. */
const maxLabelLength = 999;
const maxParentheses = 32;
const closers: Readonly<Record<string, string>> = { '"': '"', "'": "'", "(": ")" };
const isBlank = (sign: string | undefined): boolean => sign === " " || sign === "\t" || sign === "\r";

/** Position after blanks and at most one line end with the marks of a quotation after it; -1 at an empty line. */
function afterBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text[at])) at++;
  if (text[at] !== "\n") return at;
  at++;
  while (isBlank(text[at]) || text[at] === ">") at++;
  return text[at] === "\n" ? -1 : at;
}

/** Position after an address; -1 if there is none. */
function afterAddress(text: string, from: number, inLink: boolean): number {
  let at = from;
  if (text[at] === "<") {
    for (at++; at < text.length; at++) {
      const sign = text[at];
      if (sign === "\\") at++;
      else if (sign === ">") return at + 1;
      else if (sign === "<" || sign === "\n") return -1;
    }
    return text.length;
  }
  for (let depth = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === 0x7f) break;
    if (text[at] === "\\" && text.charCodeAt(at + 1) > 0x20) at++;
    else if (text[at] === "(" && inLink) {
      if (++depth > maxParentheses) return -1;
    } else if (text[at] === ")" && inLink && --depth < 0) break;
  }
  return at;
}

/**
 * Position after the title that begins at `from`; -1 if it does not end before the next empty line. Not all platforms allow a
 * parenthesis in parentheses.
 */
function afterTitle(text: string, from: number): number {
  const open = text[from] ?? "";
  const close = closers[open] ?? "";
  let parentheses = 0;
  for (let at = from + 1; at < text.length; at++) {
    const sign = text[at];
    if (sign === "\\") at++;
    else if (sign === close) return at + 1;
    else if (sign === "(" && open === "(" && ++parentheses > maxParentheses) return -1;
    else if (sign === "\n" && afterBlanks(text, at) < 0) return -1;
  }
  return text.length + 1;
}

/** The address and title of the link whose text ends at `at`; `null` if it is none. */
export function linkTailAt(text: string, at: number, isCut: boolean): LinkTail | "open" | null {
  const open = isCut ? "open" : null;
  const start = afterBlanks(text, at + 2);
  if (start < 0) return null;
  const addressEnd = afterAddress(text, start, true);
  if (addressEnd < 0) return null;
  const titleAt = afterBlanks(text, addressEnd);
  if (titleAt < 0) return null;
  const address = text.slice(start, addressEnd);
  if (text[titleAt] === ")") return { address, addressEnd, title: null, end: titleAt + 1 };
  if (titleAt >= text.length) return open;
  if (titleAt === addressEnd || closers[text[titleAt] ?? ""] === undefined) return null;
  const titleEnd = afterTitle(text, titleAt);
  if (titleEnd < 0) return null;
  const end = afterBlanks(text, titleEnd);
  if (end >= text.length) return open;
  return text[end] === ")" ? { address, addressEnd, title: { from: addressEnd, to: titleEnd }, end: end + 1 } : null;
}

/** The label between the bracket at `at` and its end, and the position after it; `null` if it is none. */
export function labelAt(text: string, at: number): { readonly label: string; readonly end: number } | "open" | null {
  const last = at + 1 + maxLabelLength;
  for (let next = at + 1; next <= last; next++) {
    const sign = text[next];
    if (sign === undefined) return "open";
    if (sign === "\\") next++;
    else if (sign === "[" || (sign === "\n" && afterBlanks(text, next) < 0)) return null;
    else if (sign === "]") return { label: text.slice(at + 1, next), end: next + 1 };
  }
  return null;
}

/** The definition of a link that begins at `at`: `[label]: address "title"`, over several lines; `null` if it is none. */
export function definitionAt(text: string, at: number, isCut: boolean): Definition | "open" | null {
  const found = labelAt(text, at);
  if (found === null || found === "open") return isCut ? found : null;
  const { label, end: labelEnd } = found;
  if (isCut && labelEnd >= text.length) return "open";
  if (text[labelEnd] !== ":" || label.trim() === "") return null;
  const start = afterBlanks(text, labelEnd + 1);
  if (start < 0) return null;
  const addressEnd = afterAddress(text, start, false);
  if (isCut && addressEnd >= text.length) return "open";
  if (addressEnd < 0 || addressEnd === start) return null;
  const address = text.slice(start, addressEnd);
  const lineEnd = endOfBlanks(text, addressEnd);
  const isLineEnd = (position: number) => position === text.length || text[position] === "\n";
  const withoutTitle = isLineEnd(lineEnd) ? { label, address, addressEnd, title: null, end: lineEnd } : null;
  const titleAt = afterBlanks(text, addressEnd);
  if (isCut && titleAt >= text.length) return "open";
  if (titleAt < 0 || titleAt === addressEnd || closers[text[titleAt] ?? ""] === undefined) return withoutTitle;
  const titleEnd = afterTitle(text, titleAt);
  if (titleEnd < 0) return withoutTitle;
  const end = endOfBlanks(text, titleEnd);
  if (isCut && end >= text.length) return "open";
  return isLineEnd(end) ? { label, address, addressEnd, title: { from: addressEnd, to: titleEnd }, end } : withoutTitle;
}

function endOfBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text[at])) at++;
  return at;
}
