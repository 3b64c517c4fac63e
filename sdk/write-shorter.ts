import { cutMarkdown } from "./cut-markdown.ts";
import { PluginError } from "./errors.ts";

/** Maximum number of times that a refused text is cut and written again. */
const maxTries = 6;
/** Minimum length to which a text is cut, in characters. */
const minLength = 500;
/** Number of characters reserved for additions of a source, such as its marker. */
const markerLength = 300;

/**
 * Writes a text; if the platform refuses it for its length, writes a shorter one. An administrator can set the platform's limit, and the
 * limit can apply to the converted text. A refused request wrote nothing, so nothing is written twice.
 */
export async function writeShorter<T>(text: string, write: (text: string) => Promise<T>): Promise<T> {
  let shortText = text;
  for (let tries = 1; ; tries++) {
    try {
      return await write(shortText);
    } catch (error) {
      const limit = refusedLength(error, shortText.length);
      if (limit === null || tries > maxTries || shortText.length <= minLength) throw error;
      const next = limit < shortText.length ? limit - markerLength : Math.floor(shortText.length * 0.6);
      shortText = cutMarkdown(text, Math.max(minLength, next));
    }
  }
}

const tooLongMessage =
  /too (?:long|large|big)|content_limit_exceeded|exceeds? (?:the )?(?:allowed |maximum )?(?:limit|length|size)/i;
/** A number of characters, as written in different languages. */
const number = /\d{1,3}(?:[.,'\u2019\u00a0\u202f ]\d{3})+(?!\d)|\d{3,9}/g;

/**
 * The maximum length in a platform's error about a text that is too long; `Infinity` if it names none, `null` for any other error.
 * Its message may be in the language of the account, so a number that is smaller than the text is enough.
 */
function refusedLength(error: unknown, length: number): number | null {
  if (!(error instanceof PluginError) || error.code !== "invalid_input") return null;
  // Status and path of the request come before the colon.
  const reason = error.message.slice(error.message.indexOf(": ") + 1);
  const isNamed = error.status === 413 || tooLongMessage.test(reason);
  const numbers = (reason.match(number) ?? []).map((one) => Number(one.replace(/\D/g, "")));
  const limits = numbers.filter((one) => one >= minLength + markerLength && (isNamed || one < length));
  return limits.length > 0 ? Math.min(...limits) : isNamed ? Number.POSITIVE_INFINITY : null;
}
