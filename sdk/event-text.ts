/** Puts a text on one line. A name with line breaks could otherwise be mistaken for a part of the event's text. */
export const oneLine = (text: string): string => text.replace(/\s+/g, " ");

/** A text whose backticks can be read in one way only. */
const withPlainCode = /^(?:[^`\\]|\\<)*(?:(?<!`)`(?!`)[^`\\]+`(?!`)(?:[^`\\]|\\<)*)*$/;
/** The beginning of an element or a comment, with all backslashes before it. Takes linear time. */
const markup = /(?<!\\)(\\*)<(?=[A-Za-z/!?])/g;

/**
 * A text that its platform does not read as markup, such as a title or a name, as one line of Markdown: `Support \<template>`. An
 * element in it would otherwise hide the text that follows.
 */
export function plainLine(text: string): string {
  const line = oneLine(text);
  if (!line.includes("<")) return line;
  const escapeMarkup = (part: string) =>
    part.replace(markup, (found, slashes: string) => (slashes.length % 2 === 1 ? found : `${slashes}\\<`));
  if (!withPlainCode.test(line)) return escapeMarkup(line);
  return line
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 1 ? part : escapeMarkup(part)))
    .join("");
}

/** Formats the known facts about a subject as a Markdown list, one line each: `- State: open`. Values are plain texts. Entries that are null are left out. */
export const factList = (entries: readonly (readonly [name: string, value: string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${plainLine(value)}`)).join("\n");

/** A Markdown text, or texts that the platform shows separately, such as a comment and the description of its issue. */
export type EventText = string | readonly string[];

/** The parts of a text for an agent, in order. Each is cleaned alone. Empty parts are left out. */
export const sections = (...parts: readonly EventText[]): string[] => parts.flat().filter((part) => part !== "");

/** A text with an empty line between its parts. */
export const joinedText = (text: EventText): string => (typeof text === "string" ? text : text.join("\n\n"));
