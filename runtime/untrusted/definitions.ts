/**
 * A line that defines a link: `[label]: address "title"`. Readers see neither the line nor the title. Blanks are read in one way only,
 * because with two, a line of many blanks takes quadratic time.
 */
const line =
  /\[((?:[^[\]\\\n]|\\.){1,999})\]:[ \t]*(?![ \t])(<[^<>\n]*>|[^\s<>]\S*)([ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*\r?$/my;
const reference = /\[((?:[^[\]\\\n]|\\.){1,999})\](?!:)/g;

/** A text's end that may be the beginning of such a line. */
const openLine =
  /\[(?!\^)(?:[^[\]\\\n]|\\.){0,999}(?:\\|\](?::[ \t]*(?![ \t])(?:<[^<>\n]*>?|[^\s<>]\S*)?(?:[ \t]+(?:"[^"\n]*"?|'[^'\n]*'?|\([^()\n]*\)?)?)?)?)?$/y;

/** Whether a cut text ends inside a possible definition that begins at `at`. */
export function isOpenDefinition(text: string, at: number): boolean {
  openLine.lastIndex = at;
  return openLine.test(text);
}

const keyOf = (label: string): string => label.trim().toLowerCase().replace(/\s+/g, " ");

/** The link definitions of a text. */
export class Definitions {
  readonly #text: string;
  #referred: Set<string> | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /** The part of the definition at `at` to remove: its title, or all of it if nothing refers to it. */
  at(at: number, end: number): { readonly from: number; readonly to: number } | null {
    line.lastIndex = at;
    const match = line.exec(this.#text);
    if (!match || line.lastIndex > end + 1 || match[1]?.startsWith("^")) return null;
    const [whole, label = "", address = "", title] = match;
    if (/^(?:#|<#?>)$/.test(address) || !this.#isReferred(label)) return { from: at, to: at + whole.trimEnd().length };
    if (!title) return null;
    const from = at + whole.indexOf(title, label.length + address.length + 2);
    return { from, to: from + title.length };
  }

  #isReferred(label: string): boolean {
    this.#referred ??= new Set([...this.#text.matchAll(reference)].map((match) => keyOf(match[1] as string)));
    return this.#referred.has(keyOf(label));
  }
}
