import { CodeSpanEnds } from "./code-span.ts";
import { tagAt } from "./html-tag.ts";

const [newline, less, bracket, backslash, closeBracket, backtick] = [10, 60, 91, 92, 93, 96];
const autolink = /<[A-Za-z][\w+.-]{1,31}:[^\s<>]*>/y;

/** For each `[`, the position of its `]` in the same paragraph; 0 if there is none. Those in code, tags and addresses do not count. */
export function matchingBrackets(text: string): Int32Array {
  const matches = new Int32Array(text.length);
  const spans = new CodeSpanEnds(text);
  let paragraphEnd = -1;
  let open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === backslash) at++;
    else if (code === bracket) open.push(at);
    else if (code === closeBracket) {
      const start = open.pop();
      if (start !== undefined) matches[start] = at;
    } else if (code === newline && text.charCodeAt(at + 1) === newline) open = [];
    else if (open.length === 0) continue;
    else if (code === backtick) {
      if (paragraphEnd < at) paragraphEnd = endOfParagraph(text, at);
      at = spans.of(at, paragraphEnd) - 1;
    } else if (code === less) at = endOfTag(text, at) - 1;
  }
  return matches;
}

export function endOfParagraph(text: string, from: number): number {
  const end = text.indexOf("\n\n", from);
  return end < 0 ? text.length : end;
}

function endOfTag(text: string, at: number): number {
  autolink.lastIndex = at;
  return autolink.test(text) ? autolink.lastIndex : (tagAt(text, at)?.end ?? at + 1);
}
