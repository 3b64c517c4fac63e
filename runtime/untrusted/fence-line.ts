import { continuationOf, lineMarks } from "./line-marks.ts";

/** The fence of a code block, in all blocks that can contain one. */
const opening = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(`{3,}|~{3,})[ \t]*/;
const word = /\S*/y;
const maxLanguageLength = 40;
/** A code block that platforms show as a picture. */
const diagram = /^mermaid$/i;

interface FenceLine {
  /** Length of the part that readers see, with the language. */
  readonly shownLength: number;
  readonly isDiagram: boolean;
}

/** A line that may begin a code block; `null` if it does not. Readers see at most the first word after the fence. */
export function fenceLine(line: string): FenceLine | null {
  const [fence, signs = ""] = opening.exec(line) ?? [""];
  if (signs === "" || (signs.startsWith("`") && line.includes("`", fence.length))) return null;
  word.lastIndex = fence.length;
  const [language = ""] = word.exec(line) ?? [];
  const shownLength = fence.length + (language.length > maxLanguageLength ? 0 : language.length);
  return { shownLength, isDiagram: diagram.test(language) };
}

/** Whether readers do not see a line of a diagram. */
export const isDiagramComment = (line: string): boolean => /^[ \t>]*%%/.test(line);

/** Finds the lines outside of code that may begin a code block. Pass the lines in order. */
export class FenceLines {
  /** The last column at which a block that contains others can begin. */
  #lastBlock = 0;
  /** What precedes the further lines of the open block of HTML. */
  #html: string | null = null;

  read(line: string, isInHtml: boolean): FenceLine | null {
    const { length, indent, item } = lineMarks(line);
    const marks = line.slice(0, length);
    if (line.startsWith("[^", length)) this.#lastBlock = Number.POSITIVE_INFINITY;
    else this.#lastBlock = Math.max(this.#lastBlock, item ?? 0);
    if (!isInHtml) this.#html = null;
    else if (this.#html === null) this.#html = continuationOf(line, length);
    else if (marks.startsWith(this.#html) && /^[ \t]*$/.test(marks.slice(this.#html.length))) return null;
    return indent >= (item ?? this.#lastBlock) + 4 ? null : fenceLine(line);
  }
}
