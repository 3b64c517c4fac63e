import { type LineMarks, lineMarks } from "./line-marks.ts";

/** A line that is no row: a heading, a fence, a footnote. */
const otherBlock = /^(?:#{1,6}[ \t]|```|~~~|\[\^[^\]\s]+\]:)/;
const thematicBreak = /^([-*_])[ \t]*(?:\1[ \t]*){2,}\r?$/;
const item = /^(?:[-*+]|\d{1,9}[.)])(?:[ \t\r]|$)/;

/** A line that can be the first one of a table. */
interface Header {
  readonly cells: number;
  readonly marks: LineMarks;
  /** The column at which its block begins; `null` if unknown. */
  readonly block: number | null;
}

/** Finds the cells that no reader sees, because their row has more than the table has columns. Pass the lines in order. */
export class TableRows {
  #header: Header | null = null;
  #columns = 0;
  /** The column at which the content of the open item begins, 0 outside of lists; `null` if unknown. */
  #item: number | null = 0;
  #quotation = "";
  #isAfterBlank = true;

  /** A line that is no part of a table. */
  reset(): void {
    this.#header = null;
    this.#columns = 0;
    this.#isAfterBlank = true;
  }

  /** Length of the part of a line that readers see. */
  shownLength(line: string): number {
    const marks = lineMarks(line);
    const content = line.slice(marks.length);
    const isBreak = thematicBreak.test(line.slice(marks.quotation.length).trimStart());
    const isOther = isBreak || otherBlock.test(content);
    const isRow =
      !isOther && marks.item === null && !item.test(content) && this.#header !== null && isInside(marks, this.#header);
    if (this.#columns > 0 && isRow) {
      const last = separatorsOf(content)[this.#columns - 1];
      return last === undefined ? line.length : marks.length + last + 1;
    }
    const cells = separatorsOf(content).length + 1;
    this.#columns = this.#columns === 0 && isRow && this.#header?.cells === cells && isRule(content) ? cells : 0;
    if (this.#columns === 0) this.#header = this.#headerOf(marks, cells, isOther);
    this.#isAfterBlank = false;
    return line.length;
  }

  #headerOf(marks: LineMarks, cells: number, isOther: boolean): Header | null {
    const { indent, quotation } = marks;
    if (marks.item !== null) this.#item = marks.item;
    else if (quotation !== this.#quotation || (this.#isAfterBlank && this.#item !== null && indent < this.#item))
      this.#item = indent === 0 ? 0 : null;
    this.#quotation = quotation;
    const block = this.#item !== null && indent >= this.#item ? this.#item : null;
    return isOther || indent > (block ?? 0) + 3 ? null : { cells, marks, block };
  }
}

/** Whether a line is in the same block as the first line of a table. */
function isInside({ quotation, indent }: LineMarks, { marks, block }: Header): boolean {
  if (quotation !== marks.quotation) return false;
  return block === null ? indent === marks.indent : indent >= block && indent <= block + 3;
}

/** Whether a line tells how many columns a table has: `|---|:-:|`. */
const isRule = (row: string): boolean =>
  row.includes("|") &&
  /^[|:\- \t\r]*$/.test(row) &&
  row
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .every((cell) => /^:?-+:?$/.test(cell.trim()));

/** Positions of the signs between the cells of a row. */
function separatorsOf(row: string): number[] {
  const separators: number[] = [];
  const end = row.trimEnd().length;
  for (let at = row[0] === "|" ? 1 : 0; at < end; at++) {
    if (row[at] === "\\") at++;
    else if (row[at] === "|" && at < end - 1) separators.push(at);
  }
  return separators;
}
