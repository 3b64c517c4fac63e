/**
 * Control characters (C0, DEL, C1), line separators and bidirectional marks. Some control a terminal, others can forge lines or
 * hide text.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds control characters
const control = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A text that cannot control a terminal: `\u001b` instead of the escape character. */
export const visibleText = (text: string): string =>
  text.replace(control, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
