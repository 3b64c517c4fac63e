import { withoutInvisible } from "./invisible.ts";

const shape = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,31}));/y;
/** Names of invisible characters. */
export const invisibleNames = new Set(
  "ZeroWidthSpace NegativeThinSpace NegativeMediumSpace NegativeThickSpace NegativeVeryThinSpace NoBreak zwj zwnj shy lrm rlm InvisibleTimes it InvisibleComma ic ApplyFunction af".split(
    " ",
  ),
);

/**
 * The character reference at `at`, and its `replacement`. A reference to a plain letter becomes that letter, as people read
 * it; a reference to an invisible character is removed. `null`: it is not changed.
 */
export function readEntity(text: string, at: number): { readonly replacement: string | null; readonly end: number } | null {
  if (!isStart(text.charCodeAt(at + 1))) return null;
  shape.lastIndex = at;
  const match = shape.exec(text);
  if (!match) return null;
  const end = shape.lastIndex;
  const [, decimal, hex, name] = match;
  if (name) return { replacement: invisibleNames.has(name) ? "" : null, end };
  const point = decimal ? Number(decimal) : Number.parseInt(hex ?? "", 16);
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return { replacement: "", end };
  const character = String.fromCodePoint(point);
  if (plain.includes(character)) return { replacement: character, end };
  if (point >= 0x20 && point < 0x7f) return { replacement: null, end };
  return { replacement: withoutInvisible(character) === "" ? "" : null, end };
}

const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,.:;/-";
const isStart = (code: number): boolean => code === 0x23 || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
