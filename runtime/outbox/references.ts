/** The named references to a mark that ends a name or that references to issues contain, each followed by its character. */
const marks =
  "amp& lt< gt> quot\" apos' num# excl! colon: comma, semi; quest? period. sol/ lowbar_ UnderBar_ ast* midast* bsol\\ lpar( rpar) lsqb[ lbrack[ rsqb] rbrack] ndash– mdash— hellip… mldr… lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» bull• middot· rarr→ larr←";
/** The same of spaces. */
const spaces =
  "Tab\t NewLine\n nbsp\u00a0 NonBreakingSpace\u00a0 ensp\u2002 emsp\u2003 numsp\u2007 puncsp\u2008 thinsp\u2009 ThinSpace\u2009 hairsp\u200a VeryThinSpace\u200a MediumSpace\u205f";
const named = new Map(`${marks} ${spaces}`.split(" ").map((entry) => [entry.slice(0, -1), entry.slice(-1)]));
const shape = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,31}));/g;

function characterOf(decimal?: string, hex?: string, name?: string): string | undefined {
  if (name !== undefined) return named.get(name);
  const point = decimal ? Number(decimal) : Number.parseInt(hex ?? "", 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
}

/** The text with its character references decoded, those of unknown names excepted, and where each of its characters begins in `text`. */
export function decodeReferences(text: string): { readonly decoded: string; readonly startOf: (index: number) => number } {
  const shifts: { readonly from: number; readonly by: number }[] = [];
  let shift = 0;
  const decoded = text.replace(shape, (whole: string, decimal?: string, hex?: string, name?: string, at = 0) => {
    const character = characterOf(decimal, hex, name);
    if (character === undefined) return whole;
    const from = at - shift + character.length;
    shift += whole.length - character.length;
    shifts.push({ from, by: shift });
    return character;
  });
  let next = 0;
  /** Called with rising indexes. */
  const startOf = (index: number) => {
    while ((shifts[next]?.from ?? Number.POSITIVE_INFINITY) <= index) next++;
    return index + (shifts[next - 1]?.by ?? 0);
  };
  return { decoded, startOf };
}
