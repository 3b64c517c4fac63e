import { isPlaceholder } from "@signalbox/sdk";
import { plainOf, reverse, rot13, spellingsOf } from "./spellings.ts";

/** A secret of this service, with the name that an operator knows. */
export interface KnownSecret {
  readonly name: string;
  readonly value: string;
}
interface FoundSecret {
  readonly from: number;
  readonly to: number;
  readonly name: string;
}

/**
 * Number of consecutive letters and digits of a secret that are recognised. Parts are recognised too, because they could be
 * combined.
 */
const gram = 12;
/** Shorter spellings of a value are ignored, because they may be ordinary words. */
const minLength = 5;
const maxLength = 4_096;
/** Values that consist of letters only, as in demonstrations and tests, count as words up to this length. */
const maxWordLength = 14;

interface Spelling {
  readonly text: string;
  readonly name: string;
}

/**
 * Finds the values of known secrets in a text, in the common encodings, reversed, in parts of twelve characters, and with
 * anything but letters and digits in between. Takes linear time.
 */
export class SecretFinder {
  /** Positions in spellings, by the hash of the `gram` characters there. */
  readonly #grams = new Map<number, { spelling: Spelling; at: number }[]>();
  readonly #filter = new Uint8Array(1 << 16);
  /** Values without markup that are searched for as a whole, because parts of them may be words. */
  readonly #exact: Spelling[] = [];
  /** Values of which no part is recognised. A text that contains any other value also contains a recognised part of it. */
  readonly #withoutParts: Spelling[] = [];

  constructor(secrets: readonly KnownSecret[]) {
    for (const { name, value } of new Map(secrets.toReversed().map((one) => [one.value, one])).values()) {
      if (!isTelling(value)) continue;
      const shortValue = value.slice(0, maxLength);
      const uri = encodeURIComponent(shortValue.toWellFormed());
      const hasParts = plainOf(shortValue).length >= gram && /\d/.test(shortValue) && /[a-z]/i.test(shortValue);
      const texts = [...new Set([shortValue, reverse(shortValue), uri].map((one) => withoutMarkup(one).plainText))];
      const exact = texts.filter((text) => text.length >= minLength).map((text) => ({ text, name }));
      this.#exact.push(...exact);
      if (!hasParts) this.#withoutParts.push(...exact);
      for (const text of spellingsOf(shortValue)) this.#add({ text, name }, () => true);
      if (hasParts)
        for (const text of [shortValue, reverse(shortValue), rot13(shortValue), uri])
          this.#add({ text: plainOf(text), name }, (part) => /\d/.test(part));
    }
  }

  find(text: string): FoundSecret[] {
    const parts = this.#findGrams(text);
    return [...this.#findExact(text, parts.length > 0 ? this.#exact : this.#withoutParts), ...parts];
  }

  #add(spelling: Spelling, isUsed: (part: string) => boolean): void {
    for (let at = 0; at + gram <= spelling.text.length; at++) {
      const part = spelling.text.slice(at, at + gram);
      if (!isUsed(part)) continue;
      const hash = hashOf(part);
      const known = this.#grams.get(hash);
      if (known) known.push({ spelling, at });
      else this.#grams.set(hash, [{ spelling, at }]);
      this.#filter[hash >>> 16] = 1;
    }
  }

  #findExact(text: string, spellings: readonly Spelling[]): FoundSecret[] {
    const spans: FoundSecret[] = [];
    if (spellings.length === 0) return spans;
    const { plainText, positions } = withoutMarkup(text);
    for (const { text: wanted, name } of spellings) {
      for (let at = plainText.indexOf(wanted); at >= 0; at = plainText.indexOf(wanted, at + wanted.length)) {
        const end = at + wanted.length;
        if (wanted.length < gram && (isWord(plainText[at - 1]) || isWord(plainText[end]))) continue;
        spans.push({ from: positions?.[at] ?? at, to: (positions?.[end - 1] ?? end - 1) + 1, name });
      }
    }
    return spans;
  }

  #findGrams(text: string): FoundSecret[] {
    const spans: FoundSecret[] = [];
    if (this.#grams.size === 0) return spans;
    const codes = new Uint8Array(text.length);
    const positions = new Uint32Array(text.length);
    const length = lettersAndDigits(text, codes, positions);
    let hash = 0;
    let from = 0;
    for (let at = 0; at < length; at++) {
      hash = (Math.imul(hash, base) + (codes[at] as number)) >>> 0;
      if (at - from >= gram) hash = (hash - Math.imul(codes[at - gram] as number, highest)) >>> 0;
      if (at - from + 1 < gram || this.#filter[hash >>> 16] === 0) continue;
      const start = at - gram + 1;
      const match = this.#longestAt(hash, codes, start, length);
      if (!match) continue;
      spans.push({ from: positions[start] as number, to: (positions[start + match.length - 1] as number) + 1, name: match.name });
      at = start + match.length - 1;
      from = at + 1;
      hash = 0;
    }
    return spans;
  }

  #longestAt(hash: number, codes: Uint8Array, start: number, end: number): { length: number; name: string } | null {
    let longest: { length: number; name: string } | null = null;
    for (const { spelling, at } of this.#grams.get(hash) ?? []) {
      const { text, name } = spelling;
      let length = 0;
      while (start + length < end && codes[start + length] === text.charCodeAt(at + length)) length++;
      if (length >= gram && length > (longest?.length ?? 0)) longest = { length, name };
    }
    return longest;
  }
}

/** Whether a value cannot occur in ordinary text. */
function isTelling(value: string): boolean {
  if (isPlaceholder(value) || (value.length < maxWordLength && /^[A-Z]?[a-z]*$/.test(value))) return false;
  return value.length >= gram || (/\d/.test(value) && /[A-Za-z]/.test(value)) || /[^A-Za-z0-9]/.test(value.slice(1, -1));
}

const base = 16_777_619;
const highest = Array.from({ length: gram }).reduce<number>((power) => Math.imul(power, base), 1);
function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, base) + text.charCodeAt(at)) >>> 0;
  return hash;
}

function lettersAndDigits(text: string, codes: Uint8Array, positions: Uint32Array): number {
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    let code = text.charCodeAt(at);
    if (code >= 0x41 && code <= 0x5a) code += 0x20;
    else if (!((code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39))) continue;
    codes[length] = code;
    positions[length++] = at;
  }
  return length;
}

/** A text without Markdown's formatting characters and without invisible characters. */
export function withoutMarkup(text: string): { plainText: string; positions: Uint32Array | null } {
  if (!markup.test(text)) return { plainText: text, positions: null };
  const positions = new Uint32Array(text.length);
  let plainText = "";
  let copiedTo = 0;
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && !isMarkup(text.charCodeAt(at))) {
      positions[plainText.length + at - copiedTo] = at;
      continue;
    }
    plainText += text.slice(copiedTo, at);
    copiedTo = at + 1;
  }
  return { plainText, positions };
}

const markup = /[*`~\\\u00ad\u200b-\u200d\u2060\ufeff]/u;
const isMarkup = (code: number): boolean =>
  code === 0x2a || code === 0x60 || code === 0x7e || code === 0x5c || (code >= 0xad && markup.test(String.fromCharCode(code)));
const isWord = (sign: string | undefined): boolean => sign !== undefined && /[A-Za-z0-9]/.test(sign);
