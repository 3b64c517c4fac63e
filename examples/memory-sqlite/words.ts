/** English stop words. */
const stopWords = new Set(
  "a about after all also am an and any are as at be been before but by can could did do does for from had has have he her his how i if in into is it its just me more my no not of on one or our out over she so some such than that the their them then there these they this to too up us was we were what when where which who why will with would you your".split(
    " ",
  ),
);

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
/** A quoted FTS5 phrase. */
const phrase = (words: readonly string[]): string => `"${words.join(" ")}"`;
const withoutStopWords = (words: readonly string[]): string[] => words.filter((word) => !stopWords.has(word));

/** FTS5 query for any of the words; `null` if all of them are stop words. */
export function anyWord(text: string): string | null {
  const words = withoutStopWords(wordsOf(text));
  return words.length === 0 ? null : words.map((word) => phrase([word])).join(" OR ");
}

/** FTS5 query for every word. With web search syntax also "phrases", `or`, and `-` before excluded words. */
export function allWords(text: string, syntax: "all" | "any"): string | null {
  if (syntax === "any") {
    const words = withoutStopWords(wordsOf(text));
    return words.length === 0 ? null : words.map((word) => phrase([word])).join(" AND ");
  }
  const alternatives: { wanted: string[]; unwanted: string[] }[] = [{ wanted: [], unwanted: [] }];
  for (const [, minus, quoted, word = ""] of text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/gu)) {
    if (!minus && quoted === undefined && word.toLowerCase() === "or") {
      alternatives.push({ wanted: [], unwanted: [] });
      continue;
    }
    const words = wordsOf(quoted ?? word);
    if (withoutStopWords(words).length > 0) alternatives.at(-1)?.[minus ? "unwanted" : "wanted"].push(phrase(words));
  }
  const parts = alternatives.flatMap(({ wanted, unwanted }) => {
    if (wanted.length === 0) return [];
    const all = `(${wanted.join(" AND ")})`;
    return unwanted.length === 0 ? [all] : [`(${all} NOT (${unwanted.join(" OR ")}))`];
  });
  return parts.length === 0 ? null : parts.join(" OR ");
}
