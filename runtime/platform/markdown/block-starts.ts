/** The marker of a list item with a text, or of a heading. */
const marker = /^( {0,3})(?:([-*+])|(\d{1,9})([.)])|#{1,6})( {1,4})(?=[^ \t])/;
/** A line that can end a list, if it is not inside of an item. */
const listEnd = /^[ \t]*(?:[-*+>#<|=~_`]|$)/;

/** The last item of the numbered list that may be open. */
interface Item {
  readonly indent: number;
  readonly sign: string;
  /** Columns before its content. */
  readonly width: number;
}

/**
 * Finds the lines that certainly begin a block of their own, so no span or link of the line before reaches into them. A line of HTML
 * or of a fence can look the same. Pass the lines in order.
 */
export class BlockStarts {
  #item: Item | null = null;
  #isAfterHeading = false;

  begins(line: string): boolean {
    const found = marker.exec(line);
    const isAfterHeading = this.#isAfterHeading;
    this.#isAfterHeading = false;
    if (!found) {
      const indent = line.search(/[^ ]/);
      if (listEnd.test(line) && indent < (this.#item?.width ?? 0)) this.#item = null;
      return isAfterHeading;
    }
    const [{ length: width }, { length: indent } = "", bullet, number, sign] = found;
    const item = this.#item;
    if (number !== undefined && sign !== undefined) {
      // Only a list that begins with 1 can follow a paragraph; a further item can have any number.
      const isNext = item?.indent === indent && item.sign === sign;
      const isItem = Number(number) === 1 || isNext;
      this.#item = isItem ? { indent, sign, width } : null;
      return isItem || isAfterHeading;
    }
    this.#isAfterHeading = bullet === undefined;
    if (item && indent < item.width) this.#item = null;
    return true;
  }
}
