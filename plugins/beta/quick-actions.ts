/**
 * Escapes quick actions: the platform executes a line that begins with a slash (`/close`, `/assign @ann`) as a command of the
 * account, and a model's text must not contain any. Lines in closed code fences are not commands. Takes linear time.
 */
export function withoutQuickActions(markdown: string): string {
  let escaped = "";
  let copiedTo = 0;
  let hasFences = true;
  for (let start = 0; start < markdown.length; ) {
    if (markdown[start] === "\n") {
      start += 1;
      continue;
    }
    const end = endOfLine(markdown, start);
    const fence = hasFences ? fenceAt(markdown, start, end) : null;
    if (fence) {
      const after = afterClosing(markdown, end + 1, fence);
      if (after !== null) {
        start = after;
        continue;
      }
      // After an unclosed fence, it is unknown what the platform treats as code.
      hasFences = false;
    }
    const slash = slashAt(markdown, start);
    if (slash !== null) {
      escaped += `${markdown.slice(copiedTo, slash)}\\`;
      copiedTo = slash;
    }
    start = end + 1;
  }
  return escaped + markdown.slice(copiedTo);
}

interface Fence {
  readonly sign: string;
  readonly length: number;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function runAt(text: string, from: number, sign: string): number {
  let at = from;
  while (text[at] === sign) at += 1;
  return at - from;
}

function fenceAt(text: string, start: number, end: number): Fence | null {
  const sign = text[start] ?? "";
  if (sign !== "`" && sign !== "~") return null;
  const length = runAt(text, start, sign);
  if (length < 3 || text.slice(start + length, end).includes("`")) return null;
  return { sign, length };
}

/** Start of the line after the closing fence; `null` if the fence is not closed. */
function afterClosing(text: string, from: number, { sign, length }: Fence): number | null {
  for (let start = from; start < text.length; ) {
    const end = endOfLine(text, start);
    const run = text[start] === sign ? runAt(text, start, sign) : 0;
    if (run >= length && text.slice(start + run, end).trim() === "") return end + 1;
    start = end + 1;
  }
  return null;
}

/** Space, tab, vertical tab, form feed, carriage return, no-break space. */
const isBlank = (code: number): boolean =>
  code === 0x20 || code === 0x09 || code === 0x0b || code === 0x0c || code === 0x0d || code === 0xa0;
/** A letter of ASCII or `_`. */
const isNameStart = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;

/** Position of the slash of a quick action in the line that begins at `start`. */
function slashAt(text: string, start: number): number | null {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return text[at] === "/" && isNameStart(text.charCodeAt(at + 1)) ? at : null;
}
