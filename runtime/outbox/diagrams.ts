import { decodeReferences } from "./references.ts";

/** Languages of code blocks that platforms can show as a diagram: Mermaid, and those of PlantUML and Kroki. */
const languages = `mermaid plantuml puml c4plantuml actdiag blockdiag bpmn bytefield d2 dbml diagramsnet ditaa dot erd excalidraw
 graphviz nomnoml nwdiag packetdiag pikchr rackdiag seqdiag structurizr svgbob symbolator tikz umlet vega vegalite vega-lite
 wavedrom wireviz`.split(/\s+/);
const language = new RegExp(`^[^a-z0-9]*(${languages.join("|")})(?![a-z0-9-])`, "i");

/** The last signs of a fence and the first word after it, also within a list or a quotation. */
const opening = /(`{3}(?!`)|~{3}(?!~))[^\S\n]*([^\s`~]{1,200})/g;
const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*\r?$/gm;
/** Code blocks with a language that are checked. Further ones lose their language. */
const maxBlocks = 2_000;

/** What an address of another host contains in any spelling: two slashes, a scheme, an escape, or a character reference. */
const address = /[/\\]\s*[/\\]|h\s{0,9}t\s{0,9}t\s{0,9}p\s{0,9}s?\s{0,9}:|\\[0-9a-fux]|#\w{1,31};/gi;
/** What can build an address in the other languages: directives, variables, functions. */
const program = /[!$%\\&]/g;

/**
 * Shows diagrams that could load an image or a text of another host as their source. The address would reveal the reader, and data
 * in it, to that host. Takes linear time.
 */
export function withoutLoadingDiagrams(text: string): string {
  const [addresses, programs, closings] = [address, program, closing].map((pattern) => new Search(text, pattern));
  let [shown, copiedTo, count] = ["", 0, 0];
  for (const { index, 0: whole, 1: lastSigns = "", 2: word = "" } of text.matchAll(opening)) {
    const from = index + whole.length;
    const at = fenceStart(text, index);
    const fence = text.slice(at, index) + lastSigns;
    if (++count > maxBlocks) return shown + text.slice(copiedTo, at) + text.slice(at).replace(opening, "$1text");
    const name = language.exec(spelled(word))?.[1]?.toLowerCase();
    if (name === undefined) continue;
    const end = isAtLineStart(text, at) ? closings?.after(from) : null;
    // It is unknown where a fence within a list or a quotation ends.
    const to = end?.[1]?.startsWith(fence) ? end.index : text.length;
    const isBefore = (found: RegExpExecArray | null | undefined) => found != null && found.index < to;
    if (!isBefore(addresses?.after(at)) && (name === "mermaid" || !isBefore(programs?.after(from)))) continue;
    shown += `${text.slice(copiedTo, at)}${fence}text`;
    copiedTo = from;
  }
  return shown + text.slice(copiedTo);
}

/** Finds the next match after rising positions, each match once. */
class Search {
  readonly #text: string;
  readonly #pattern: RegExp;
  #hasSearched = false;
  #found: RegExpExecArray | null = null;

  constructor(text: string, pattern: RegExp) {
    this.#text = text;
    this.#pattern = new RegExp(pattern);
  }

  after(at: number): RegExpExecArray | null {
    const isKnown = this.#hasSearched && (this.#found === null || this.#found.index >= at);
    if (isKnown) return this.#found;
    this.#hasSearched = true;
    this.#pattern.lastIndex = at;
    this.#found = this.#pattern.exec(this.#text);
    return this.#found;
  }
}

/** Where the fence begins whose last signs are at `lastSigns`. */
function fenceStart(text: string, lastSigns: number): number {
  let at = lastSigns;
  while (text[at - 1] === text[lastSigns]) at--;
  return at;
}

/** The language as Markdown reads it. */
const spelled = (word: string): string => (/[&\\]/.test(word) ? decodeReferences(word.replaceAll("\\", "")).decoded : word);

const isAtLineStart = (text: string, at: number): boolean =>
  /\n {0,3}$/.test(at < 4 ? `\n${text.slice(0, at)}` : text.slice(at - 4, at));
