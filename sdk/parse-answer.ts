import { PluginError } from "./errors.ts";

/** Shorter texts are parsed without a look at their objects, which takes a few milliseconds. */
const smallLength = 262_144;
const maxMembers = 10_000;
const [quote, colon, backslash, open, close] = [34, 58, 92, 123, 125];

/**
 * Parses the JSON of a platform's answer. Creating one object with very many members takes many times as long as other JSON of that
 * length, and blocks the event loop. Throws a `PluginError` (`unavailable`) if an object in a long text has more than 10,000 members,
 * and a `SyntaxError` if the text is not JSON.
 */
export function parseAnswer(text: string): unknown {
  if (text.length > smallLength && hasWideObject(text))
    throw new PluginError("unavailable", `an object has more than ${maxMembers.toLocaleString("en")} members`);
  return JSON.parse(text);
}

function hasWideObject(text: string): boolean {
  /** The members of each object that is open. A colon outside of strings belongs to the innermost one. */
  const members: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === open) members.push(0);
    else if (code === close) members.pop();
    else if (code === colon) {
      const count = (members.pop() ?? 0) + 1;
      if (count > maxMembers) return true;
      members.push(count);
    }
  }
  return false;
}

/** Index of the quote that ends the string beginning at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === backslash) first--;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}
