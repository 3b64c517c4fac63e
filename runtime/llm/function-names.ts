/** Maximum length of a function name in OpenAI-compatible APIs. */
export const maxFunctionName = 64;

/** The text with `_` in place of every character that function names must not contain. */
export const withPermittedCharacters = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]/g, "_");

/** Whether OpenAI-compatible APIs accept the text as the name of a function. */
export const isFunctionName = (text: string): boolean =>
  text !== "" && text.length <= maxFunctionName && withPermittedCharacters(text) === text;
