/** What can precede a line's content: quotation marks and markers of lists. */
const prefix = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/;
/** The beginning of another block, which ends the table. */
const otherBlock = /^(?:[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|```|~~~)/;

/** Finds the cells that no reader sees, because their row has more than the table has columns. Pass the lines in order. */
export class TableRows {
  #cellsBefore = 0;
  #columns = 0;

  /** A line that is no part of a table. */
  reset(): void {
    this.#cellsBefore = 0;
    this.#columns = 0;
  }

  /** Length of the part of a line that readers see. */
  shownLength(line: string): number {
    const isTable = this.#columns > 0;
    if (!isTable && this.#cellsBefore === 0 && !line.includes("|")) {
      // The only column of a table may have no sign in its first line.
      this.#cellsBefore = 1;
      return line.length;
    }
    const indent = (isTable ? /^[ \t>]*/ : prefix).exec(line)?.[0].length ?? 0;
    const content = line.slice(indent);
    const separators = separatorsOf(content);
    const cells = separators.length + 1;
    if (!isTable) {
      const hasRule = this.#cellsBefore === cells && isRule(content);
      if (hasRule) this.#columns = cells;
      this.#cellsBefore = cells;
      return line.length;
    }
    if (otherBlock.test(content)) {
      this.reset();
      this.#cellsBefore = cells;
      return line.length;
    }
    const last = separators[this.#columns - 1];
    return last === undefined ? line.length : indent + last + 1;
  }
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
