import { type Definition, definitionAt } from "./link-target.ts";
import { bracketsInParagraphs } from "./paragraphs.ts";

const reference = /\[((?:[^[\]\\\n]|\\.|\n(?![ \t>]*\n)){1,999})\](?!:)/g;
/** The first signs of a line, in all blocks that can contain a definition, then its bracket. */
const lineStart = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*\[(?!\^)/gm;
/** A label that cannot contain a sentence: `1`, `docs`, `api.md`. */
const plainLabel = /^[\w.-]{1,24}$/;

/** A label as definitions and references are compared. */
export const keyOf = (label: string): string =>
  label
    .replace(/[\s>]+/g, " ")
    .trim()
    .toLowerCase();

/** Whether a label of a definition can contain a sentence. Readers see it only where a link has no other text. */
export const isWordy = (label: string): boolean => !plainLabel.test(label.trim());

const isComment = (address: string): boolean => /^(?:#|<#?>)$/.test(address);

/** Keys of all labels in brackets that look like a reference. */
export const labelsIn = (text: string): Set<string> =>
  new Set([...text.matchAll(reference)].map(([, label = ""]) => keyOf(label)));

/** The link definitions of a text. */
export class Definitions {
  readonly #text: string;
  readonly #isCut: boolean;
  /** Keys of the definitions that are shown because the text refers to them. */
  readonly kept = new Set<string>();
  #referred: ReadonlySet<string> | null;
  #wordy: Map<string, string> | null = null;
  #inParagraphs: Set<number> | null = null;

  /** `referred`: keys of the labels that the text refers to. `null`: all that look like a reference, also in code. */
  constructor(text: string, isCut: boolean, referred: ReadonlySet<string> | null) {
    this.#text = text;
    this.#isCut = isCut;
    this.#referred = referred;
  }

  /** The definition at `at`, `"open"` if the text was cut inside it. */
  at(at: number): Definition | "open" | null {
    const found = definitionAt(this.#text, at, this.#isCut);
    if (found === null || found === "open") return found;
    return found.label.startsWith("^") || this.#isText(at, found) ? null : found;
  }

  /** Whether readers see nothing of a definition, so it is removed. References to a label with words get its address instead. */
  isUnseen({ label, address }: Definition): boolean {
    if (isComment(address) || isWordy(label) || !this.#isReferred(label)) return true;
    this.kept.add(keyOf(label));
    return false;
  }

  /** The address of a label that `isWordy`. */
  addressOf(label: string): string | undefined {
    this.#wordy ??= this.#text.includes("]:") ? this.#readWordy() : new Map();
    return this.#wordy.size === 0 ? undefined : this.#wordy.get(keyOf(label));
  }

  /** Whether it is a line of a paragraph. One that is written as a comment is not shown anyway. */
  #isText(at: number, { address }: Definition): boolean {
    this.#inParagraphs ??= bracketsInParagraphs(this.#text);
    return this.#inParagraphs.has(at) && !isComment(address);
  }

  #isReferred(label: string): boolean {
    this.#referred ??= this.#readReferred();
    return this.#referred.has(keyOf(label));
  }

  /** The labels that the text refers to. A definition refers to nothing. */
  #readReferred(): Set<string> {
    const labels = new Set<string>();
    const definitions = this.#all();
    let next = definitions.next();
    for (const { index, 1: label = "" } of this.#text.matchAll(reference)) {
      while (!next.done && next.value.end <= index) next = definitions.next();
      if (next.done || index < next.value.at) labels.add(keyOf(label));
    }
    return labels;
  }

  /** All definitions, with their positions. */
  *#all(): Generator<Definition & { readonly at: number }> {
    for (const { index, 0: start } of this.#text.matchAll(lineStart)) {
      const at = index + start.length - 1;
      const found = definitionAt(this.#text, at, false);
      if (found !== null && found !== "open" && !this.#isText(at, found)) yield { ...found, at };
    }
  }

  #readWordy(): Map<string, string> {
    const addresses = new Map<string, string>();
    for (const { label, address } of this.#all()) {
      const key = keyOf(label);
      if (isWordy(label) && !addresses.has(key)) addresses.set(key, address);
    }
    return addresses;
  }
}
