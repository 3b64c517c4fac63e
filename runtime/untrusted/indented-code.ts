import { lineMarks } from "./line-marks.ts";

/** The further paragraphs of a footnote begin with so many blanks. */
const footnoteIndent = 4;
const footnote = /^\[\^[^\]\s]{1,999}\]:/;

/** Finds the lines of code blocks that are indented instead of fenced. Pass the lines in order. */
export class IndentedCode {
  /** The column at which the current item of a list has its content. */
  #item = 0;
  #isAfterBlank = true;
  #isInCode = false;

  isCode(line: string, isBlank: boolean): boolean {
    if (!isBlank) this.#read(line);
    this.#isAfterBlank = isBlank;
    return this.#isInCode;
  }

  #read(line: string): void {
    const { indent, item, length } = lineMarks(line);
    if (item !== null) this.#item = item;
    else if (footnote.test(line.slice(length))) this.#item = footnoteIndent;
    else if (indent === 0 && this.#isAfterBlank) this.#item = 0;
    const mayBegin = this.#isAfterBlank || this.#isInCode || item !== null;
    this.#isInCode = mayBegin && indent >= this.#item + 4;
  }
}
