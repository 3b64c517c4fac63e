import { plainLine } from "@signalbox/sdk";
import { editNote } from "./edits.ts";
import { withoutHiddenMarkup, withoutHiddenMarkupOfStart } from "./hidden-markup.ts";
import { withoutInvisible } from "./invisible.ts";
import { withoutRoleTokens } from "./role-tokens.ts";

/**
 * An external text as a model may read it: only what people see. `runtime/README.md` lists what is removed and why. Every
 * external text must be cleaned before a model reads it. Takes linear time.
 */
export function cleanText(text: string): string {
  const shown = withoutInvisible(text);
  const visible = withoutHiddenMarkup(shown);
  return withoutRoleTokens(visible);
}

/**
 * Maximum length of a text that is read whole to show its start, because what follows can hide the start. Most platforms accept
 * at most 65,536 characters.
 */
const maxWholeLength = 1 << 18;

/**
 * The same for the first `length` characters of a text. The result contains nothing that the whole cleaned text does not show.
 * `wholeLength`: of a longer text, only so many characters are read. What the rest may hide is removed too.
 */
export function cleanStart(text: string, length: number, wholeLength = maxWholeLength): string {
  return text.length <= length ? cleanText(text) : withoutRoleTokens(visibleStart(text, length, wholeLength));
}

function visibleStart(text: string, length: number, wholeLength: number): string {
  const end = withoutInvisible(cutBetweenCharacters(text, length)).length;
  const isCut = text.length > wholeLength;
  const whole = withoutInvisible(isCut ? cutBetweenCharacters(text, Math.max(length, wholeLength)) : text);
  return withoutHiddenMarkupOfStart(whole, betweenCharacters(whole, end), isCut);
}

/** Maximum length of an escape sequence of a terminal. */
const maxEscapeLength = 64;

function betweenCharacters(text: string, length: number): number {
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last < 0xdc00 ? length - 1 : length;
}

/** Cuts neither inside a character nor inside an escape sequence of a terminal. */
function cutBetweenCharacters(text: string, length: number): string {
  const end = betweenCharacters(text, length);
  const escapeAt = text.slice(Math.max(0, end - maxEscapeLength), end).indexOf("\u001b");
  return text.slice(0, escapeAt < 0 ? end : Math.max(0, end - maxEscapeLength) + escapeAt);
}

/** Whether any part of a text is visible. The start of a long text usually decides, so that not all of it has to be read. */
export function hasVisibleText(text: string): boolean {
  const isShown = text.length > maxStringLength && visible.test(visibleStart(text, maxStringLength, maxStringLength));
  return isShown || visible.test(withoutHiddenMarkup(withoutInvisible(text)));
}

const visible = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** The same for one line: a name, a title, an identifier. */
export const cleanLine = (text: string, maxLength = 500): string => cleanStart(text, maxLength).replace(/\s+/g, " ").trim();

/** Maximum length of a string in a JSON value that is cleaned, because no model is shown more of it. */
const maxStringLength = 60_000;
const maxDepth = 200;
/** Titles of all platforms are shorter; characters. */
const maxTitleLength = 1_000;

/** Options for cleaning a JSON value. */
export interface CleaningState {
  /** Number of characters of JSON that may still be read. It is negative afterwards if the value was not read completely. */
  remainingLength: number;
  /** When the event that started the run happened: text that was written or edited later is marked. */
  readonly eventTime: number | null;
  /** Platforms do not read titles as markup, so what looks like an element in one is visible. */
  readonly hasPlainTitles?: boolean;
}

/** The same for every string of a JSON value, names of members included. */
export function cleanJson(
  value: unknown,
  state: CleaningState = { remainingLength: Number.POSITIVE_INFINITY, eventTime: null },
  depth = 0,
): unknown {
  if (typeof value === "string") {
    const length = Math.max(0, Math.min(maxStringLength, state.remainingLength));
    state.remainingLength -= value.length + 3;
    return value.length > length ? `${cleanStart(value, length)} [cut: ${value.length} characters in all]` : cleanText(value);
  }
  state.remainingLength -= 3;
  if (typeof value !== "object" || value === null) return value;
  if (depth > maxDepth) return null;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      if (state.remainingLength < 0) break;
      items.push(cleanJson(item, state, depth + 1));
    }
    return items;
  }
  // The members with times may follow after the last one that is read.
  const remark = editNote(value, state.eventTime);
  const members: [string, unknown][] = remark ? [remark] : [];
  for (const name in value) {
    if (state.remainingLength < 0) break;
    state.remainingLength -= name.length + 3;
    const member = (value as Record<string, unknown>)[name];
    const isPlain = state.hasPlainTitles === true && name === "title" && typeof member === "string";
    const text = isPlain && member.length <= maxTitleLength ? plainLine(member) : member;
    members.push([cleanLine(name), cleanJson(text, state, depth + 1)]);
  }
  return Object.fromEntries(members);
}
