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
  readonly withPlaces: () => ShownText;
}

/**
 * The forms of a text in which a reader may find a secret: as it is; with its character references decoded, because an attribute may
 * contain them; and the same without tags and comments. In the last two, invisible characters are removed. Takes linear time.
 */
export function shownForms(source: string): ShownForm[] {
  const whole = { text: source, places: null };
  const forms: ShownForm[] = [{ text: source, withPlaces: () => whole }];
  const { text: decoded } = plain(whole, "without places");
  if (decoded !== source) forms.push({ text: decoded, withPlaces: () => plain(whole, "with places") });
  if (!source.includes("<")) return forms;
  const { text: bare } = plain(withoutTags(whole, "without places"), "without places");
  const withPlaces = () => plain(withoutTags(whole, "with places"), "with places");
  return bare === decoded ? forms : [...forms, { text: bare, withPlaces }];
}

/** A decoded reference may be a part of another one. */
const rounds = 3;

function plain(form: ShownText, places: Places): ShownText {
  let shown = replace(form, unseen, seenFor, places);
  for (let round = 0; round < rounds && shown.text.includes("&"); round++) {
    const decoded = replace(shown, reference, decode, places);
    if (decoded.text === shown.text) break;
    shown = replace(decoded, unseen, seenFor, places);
  }
  return shown;
}

/** What `untrusted/invisible.ts` removes, wherever it is, and hyphens that are not the one of the keyboard. */
const unseen = new RegExp(
  [
    "\\u001b(?:\\[[ -?]{0,63}[@-~])?",
    "[\\0-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f]",
    "[\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff]",
    "[\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]",
    "[\\u2010\\u2011]",
  ].join("|"),
  "gu",
);
const seenFor = (sign: string): string => (sign === "\u2010" || sign === "\u2011" ? "-" : "");

/** Also without the semicolon, which browsers do not require, and encoded more than once: `&amp;amp;#95;`. */
const reference = /&(?:amp;|AMP;|#0*38;|#[xX]0*26;)*(?:#([0-9]{1,16});?|#[xX]([0-9a-fA-F]{1,16});?|([A-Za-z]{2,31});)/g;
/** The named references to the characters that keys and other secrets contain. */
const named = new Map(
  (
    'excl! quot" QUOT" num# dollar$ percnt% amp& AMP& apos\' lpar( rpar) ast* midast* plus+ comma, hyphen- dash- period. sol/ colon: ' +
    "semi; lt< LT< equals= gt> GT> quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ UnderBar_ grave` " +
    "DiacriticalGrave` lcub{ lbrace{ verbar| vert| VerticalLine| rcub} rbrace}"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, -1), entry.slice(-1)]),
);
const invisibleNames = new Set(
  (
    "ZeroWidthSpace NegativeThinSpace NegativeMediumSpace NegativeThickSpace NegativeVeryThinSpace NoBreak zwj zwnj shy lrm rlm " +
    "InvisibleTimes it InvisibleComma ic ApplyFunction af"
  ).split(" "),
);

function decode(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return named.get(name) ?? (invisibleNames.has(name) ? "" : whole);
  const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
  return point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : whole;
}

function replace(form: ShownText, pattern: RegExp, by: typeof decode, places: Places): ShownText {
  if (places === "without places") return { text: form.text.replace(pattern, by), places: null };
  const edits: Edit[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(form.text); match; match = pattern.exec(form.text)) {
    const text = by(match[0], match[1], match[2], match[3]);
    if (text !== match[0]) edits.push({ from: match.index, to: pattern.lastIndex, text });
  }
  return edits.length === 0 ? form : edited(form, edits);
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function edited({ text, places }: ShownText, edits: readonly Edit[]): ShownText {
  const starts = new Uint32Array(text.length);
  const ends = new Uint32Array(text.length);
  let result = "";
  let copiedTo = 0;
  const copy = (to: number) => {
    let length = result.length;
    result += text.slice(copiedTo, to);
    for (; copiedTo < to; copiedTo++, length++) {
      starts[length] = places === null ? copiedTo : (places.starts[copiedTo] as number);
      ends[length] = places === null ? copiedTo + 1 : (places.ends[copiedTo] as number);
    }
  };
  for (const { from, to, text: replacement } of edits) {
    copy(from);
    copiedTo = to;
    if (replacement === "") continue;
    const end = result.length + replacement.length;
    starts.fill(places === null ? from : (places.starts[from] as number), result.length, end);
    ends.fill(places === null ? to : (places.ends[to - 1] as number), result.length, end);
    result += replacement;
  }
  copy(text.length);
  return { text: result, places: { starts, ends } };
}

/** Where the part of a form from an index on begins in the source. */
export const startOf = ({ places }: ShownText, from: number): number => places?.starts[from] ?? from;
/** Where the part of a form to an index ends in the source. */
export const endOf = ({ places }: ShownText, to: number): number => places?.ends[to - 1] ?? to;

/** Without what begins and ends like a tag, a comment or an instruction of HTML. */
function withoutTags(source: ShownText, places: Places): ShownText {
  const form = replace(source, simpleTag, () => "", places);
  const { text } = form;
  const edits: Edit[] = [];
  const ends = new TagEnds(text);
  for (let at = text.indexOf("<"); at >= 0; ) {
    const to = ends.after(at);
    if (to >= 0) edits.push({ from: at, to, text: "" });
    at = text.indexOf("<", to >= 0 ? to : at + 1);
  }
  if (places === "with places") return edits.length === 0 ? form : edited(form, edits);
  let result = "";
  let copiedTo = 0;
  for (const { from, to } of edits) {
    result += text.slice(copiedTo, from);
    copiedTo = to;
  }
  return { text: result + text.slice(copiedTo), places: null };
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
