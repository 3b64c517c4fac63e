import type { Json, SourceEvent } from "@signalbox/sdk";
import { withoutHiddenMarkup } from "../untrusted/hidden-markup.ts";
import { mentions, newestText } from "./conditions.ts";
import { ownWords, type TextFormat } from "./own-words.ts";

/** Longer texts than this are not filtered, to bound the time; people write shorter ones. */
const maxFilteredLength = 200_000;

class SaidText {
  readonly #text: string;
  readonly #format: TextFormat;
  readonly #isTitle: boolean;
  #said: string | undefined;

  constructor(text: string, format: TextFormat, isTitle = false) {
    this.#text = text;
    this.#format = format;
    this.#isTitle = isTitle;
  }

  mentions(mention: string): boolean {
    return mentions(this.#text, mention) && (this.#text.length > maxFilteredLength || mentions(this.#ownWords(), mention));
  }

  #ownWords(): string {
    this.#said ??= ownWords(this.#isTitle ? this.#text : withoutHiddenMarkup(this.#text), this.#format);
    return this.#said;
  }
}

/** The texts of each event, so that several mappings with a condition filter them once. */
const saidTexts = new WeakMap<SourceEvent, { readonly payload: Json; readonly texts: readonly SaidText[] }>();

/**
 * Whether the newest text of an event mentions `@name`. Mentions in hidden markup do not count: issue templates explain in HTML
 * comments whom to mention. Neither do those in code and in quotations.
 */
export function isMentioned(mention: string, event: SourceEvent, payload: Json): boolean {
  const known = saidTexts.get(event);
  const texts = known?.payload === payload ? known.texts : textsOf(event, payload);
  saidTexts.set(event, { payload, texts });
  return texts.some((one) => one.mentions(mention));
}

function textsOf(event: SourceEvent, payload: Json): SaidText[] {
  const { title, texts } = newestText(event, payload);
  return [new SaidText(title, "unknown", true), ...texts.map(({ text, format }) => new SaidText(text, format))];
}
