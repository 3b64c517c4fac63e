import { referenceAt } from "./character-references.ts";

/** A text as readers may see it. */
interface ShownText {
  readonly text: string;
  /** Where each of its code units begins and ends in the source; `null`: the text is the source, or the places are not needed. */
  readonly places: { readonly starts: Uint32Array; readonly ends: Uint32Array } | null;
}
type Places = "with places" | "without places";
/** The same text with the places, which take several times as long. */
export interface ShownForm {
  readonly text: string;
  /** Whether the next form contains everything that looks like a key here. */
  readonly isRepeated: boolean;
  readonly withPlaces: () => ShownText;
}

/**
 * The forms of a text in which a reader may find a secret: as it is; with its character references decoded, because an attribute may
 * contain them; and the same without tags and comments. In the last two, invisible characters are removed. Takes linear time.
 */
export function shownForms(source: string): ShownForm[] {
  const whole = { text: source, places: null };
  const { text: decoded } = plain(whole, "without places");
  const isDecoded = decoded !== source;
  const forms: ShownForm[] = [{ text: source, isRepeated: isDecoded, withPlaces: () => whole }];
  if (isDecoded) forms.push({ text: decoded, isRepeated: false, withPlaces: () => plain(whole, "with places") });
  if (!source.includes("<")) return forms;
  const { text: bare } = plain(withoutTags(whole, "without places"), "without places");
  const withPlaces = () => plain(withoutTags(whole, "with places"), "with places");
  return bare === decoded ? forms : [...forms, { text: bare, isRepeated: false, withPlaces }];
}

/** A decoded reference may be a part of another one. */
const rounds = 3;

function plain(form: ShownText, places: Places): ShownText {
  let shown = withoutUnseen(form, places);
  for (let round = 0; round < rounds && shown.text.includes("&"); round++) {
    const decoded = withoutReferences(shown, places);
    if (decoded === shown) break;
    shown = withoutUnseen(decoded, places);
  }
  return shown;
}

/** All other characters are seen: checked first, because that takes a tenth of the time. */
const notPrintable = /[^\t\n\r -~]/;
const withoutUnseen = (form: ShownText, places: Places): ShownText =>
  notPrintable.test(form.text) ? replace(replace(form, unseen, "", places), otherHyphens, "-", places) : form;

/** What `untrusted/invisible.ts` removes, wherever it is. */
const unseen = new RegExp(
  [
    "\\u001b(?:\\[[ -?]{0,63}[@-~])?",
    "[\\0-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f]",
    "[\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff]",
    "[\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]",
  ].join("|"),
  "gu",
);
/** Hyphens that are not the one of the keyboard. */
const otherHyphens = /[\u2010\u2011]/g;

function withoutReferences(form: ShownText, places: Places): ShownText {
  const { text } = form;
  const edit = new Edit(form, places);
  for (let at = text.indexOf("&"); at >= 0; ) {
    const found = referenceAt(text, at);
    if (found) edit.replace(at, found.to, found.text);
    at = text.indexOf("&", found?.to ?? at + 1);
  }
  return edit.end();
}

function replace(form: ShownText, pattern: RegExp, by: string, places: Places): ShownText {
  if (places === "without places") return { text: form.text.replace(pattern, by), places: null };
  const edit = new Edit(form, places);
  for (const { 0: found, index } of form.text.matchAll(pattern)) edit.replace(index, index + found.length, by);
  return edit.end();
}

/** Replaces parts of a form, from the first to the last, by texts that are not longer. */
class Edit {
  readonly #form: ShownText;
  readonly #withPlaces: boolean;
  #result: { readonly units: Uint16Array; readonly starts: Uint32Array; readonly ends: Uint32Array } | undefined;
  #length = 0;
  #copiedTo = 0;

  constructor(form: ShownText, places: Places) {
    this.#form = form;
    this.#withPlaces = places === "with places";
  }

  replace(from: number, to: number, by: string): void {
    this.#begin();
    this.#copy(from);
    for (let i = 0; i < by.length; i++) this.#add(by.charCodeAt(i), from, to - 1);
    this.#copiedTo = to;
  }

  /** The form itself if nothing was replaced. */
  end(): ShownText {
    if (!this.#result) return this.#form;
    this.#copy(this.#form.text.length);
    const { units, starts, ends } = this.#result;
    // The text of its code units; a string that grows with each of many edits takes ten times as long.
    const text = Buffer.from(units.buffer, 0, this.#length * 2).toString("utf16le");
    return { text, places: this.#withPlaces ? { starts, ends } : null };
  }

  #begin() {
    const { length } = this.#form.text;
    const size = this.#withPlaces ? length : 0;
    this.#result ??= { units: new Uint16Array(length), starts: new Uint32Array(size), ends: new Uint32Array(size) };
    return this.#result;
  }

  #copy(to: number): void {
    const { text } = this.#form;
    for (let at = this.#copiedTo; at < to; at++) this.#add(text.charCodeAt(at), at, at);
  }

  /** Adds a code unit for a part of the form. */
  #add(unit: number, first: number, last: number): void {
    const { places } = this.#form;
    const { units, starts, ends } = this.#begin();
    units[this.#length] = unit;
    if (this.#withPlaces) {
      starts[this.#length] = places === null ? first : (places.starts[first] as number);
      ends[this.#length] = places === null ? last + 1 : (places.ends[last] as number);
    }
    this.#length++;
  }
}

/** Where the part of a form from an index on begins in the source. */
export const startOf = ({ places }: ShownText, from: number): number => places?.starts[from] ?? from;
/** Where the part of a form to an index ends in the source. */
export const endOf = ({ places }: ShownText, to: number): number => places?.ends[to - 1] ?? to;

/** Without what begins and ends like a tag, a comment or an instruction of HTML. */
function withoutTags(source: ShownText, places: Places): ShownText {
  const form = replace(source, simpleTag, "", places);
  const { text } = form;
  const edit = new Edit(form, places);
  const ends = new TagEnds(text);
  for (let at = text.indexOf("<"); at >= 0; ) {
    const to = ends.after(at);
    if (to >= 0) edit.replace(at, to, "");
    at = text.indexOf("<", to >= 0 ? to : at + 1);
  }
  return edit.end();
}

/** Removed first, because texts contain many of them. Without hyphens: it must not end a comment. */
const simpleTag = /<\/?[A-Za-z][^<>"'-]{0,100}>/g;
const quotedEnd = /[>"']/g;

/** Finds the ends of tags. What was not found once is not searched for again. */
class TagEnds {
  readonly #text: string;
  readonly #missing = new Set<string>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Position after the tag or comment that begins at `at`; -1 if there is none. */
  after(at: number): number {
    const text = this.#text;
    if (text.startsWith("<!--", at)) {
      // `<!-->` is a whole comment.
      const end = this.#find("-->", at + 2);
      if (end >= 0) return end;
    }
    if (text.startsWith("<![CDATA[", at)) return this.#find("]]>", at);
    const next = text.charCodeAt(at + 1) | 0x20;
    const isTag = (next >= 0x61 && next <= 0x7a) || /[/!?]/.test(text[at + 1] ?? "");
    if (!isTag) return -1;
    const end = this.#endOfQuoted(at);
    return end >= 0 ? end : this.#find(">", at);
  }

  #find(wanted: string, from: number): number {
    if (this.#missing.has(wanted)) return -1;
    const found = this.#text.indexOf(wanted, from);
    if (found >= 0) return found + wanted.length;
    this.#missing.add(wanted);
    return -1;
  }

  /** The end of a tag whose values in quotes may contain `>`. */
  #endOfQuoted(at: number): number {
    if (this.#missing.has("quoted")) return -1;
    for (quotedEnd.lastIndex = at; ; ) {
      const sign = quotedEnd.exec(this.#text)?.[0];
      if (sign === ">") return quotedEnd.lastIndex;
      const end = sign === undefined ? -1 : this.#text.indexOf(sign, quotedEnd.lastIndex);
      if (end < 0) break;
      quotedEnd.lastIndex = end + 1;
    }
    this.#missing.add("quoted");
    return -1;
  }
}
