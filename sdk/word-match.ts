/** Stop words of PostgreSQL's English configuration. */
const stopWords = new Set(
  "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves what which who whom this that these those am is are was were be been being have has had having do does did doing a an the and but if or because as until while of at by for with about against between into through during before after above below to from up down in out on off over under again further then once here there when where why how all any both each few more most other some such no nor not only own same so than too very s t can will just don should now".split(
    " ",
  ),
);

/**
 * Ranks a text from 0 to 1, on the scale of PostgreSQL's `ts_rank_cd`. 0 if the query only excludes words; `null` if the text
 * does not match.
 */
export type Scorer = (content: string) => number | null;
/** Stems of the words of a text in order, with `null` for stop words. */
type Stems = (text: string) => (string | null)[];

/** English full-text search for stores that do not have one. */
export interface WordMatcher {
  /** Web search syntax: every word of at least one alternative must occur. */
  all(query: string): Scorer;
  /** Free text: at least one word must occur. Texts with every word rank higher. */
  any(query: string): Scorer;
}

/** Creates a matcher. `stem` reduces a word in lower case to its stem, for example `deployments` to `deploy`. */
export function wordMatcher(stem: (word: string) => string): WordMatcher {
  const stems: Stems = (text) =>
    (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (stopWords.has(word) ? null : stem(word)));
  return { all: (query) => scoreAll(query, stems), any: (query) => scoreAny(query, stems) };
}

/** A phrase of one or more stems that must, or must not, occur. */
interface Clause {
  readonly stems: readonly (string | null)[];
  readonly wanted: boolean;
}

/** Parses web search syntax into alternatives: words, "phrases", `or`, and `-` before an excluded word. */
function parseWords(text: string, stemsOf: Stems): Clause[][] {
  const alternatives: Clause[][] = [[]];
  for (const [, minus, phrase, word] of text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/gu)) {
    if (!minus && word?.toLowerCase() === "or") {
      alternatives.push([]);
      continue;
    }
    const stems = trim(stemsOf(phrase ?? word ?? ""));
    if (stems.length > 0) alternatives.at(-1)?.push({ stems, wanted: !minus });
  }
  return alternatives.filter((clauses) => clauses.length > 0);
}

function trim(stems: (string | null)[]): (string | null)[] {
  const first = stems.findIndex((stem) => stem !== null);
  return first === -1 ? [] : stems.slice(first, stems.findLastIndex((stem) => stem !== null) + 1);
}

function scoreAll(query: string, stemsOf: Stems): Scorer {
  const alternatives = parseWords(query, stemsOf);
  return (content) => {
    const stems = stemsOf(content);
    const fits = alternatives.filter((clauses) =>
      clauses.every(({ stems: phrase, wanted }) => occurs(stems, phrase) > 0 === wanted),
    );
    if (fits.length === 0) return null;
    const together = fits.map((clauses) => {
      const counts = clauses.flatMap(({ stems: phrase, wanted }) => (wanted ? [occurs(stems, phrase)] : []));
      return counts.length === 0 ? 0 : Math.min(...counts);
    });
    return rankOf(
      together.reduce((sum, count) => sum + count, 0),
      stems,
    );
  };
}

function scoreAny(query: string, stemsOf: Stems): Scorer {
  const wanted = new Set(stemsOf(query).filter((stem) => stem !== null));
  return (content) => {
    const stems = stemsOf(content);
    const hits = stems.filter((stem) => stem !== null && wanted.has(stem));
    if (hits.length === 0) return null;
    return (new Set(hits).size === wanted.size ? 0.5 : 0) + rankOf(hits.length, stems) / 2;
  };
}

/** Rank from 0 to 1, lower for long texts. Uses the scale of PostgreSQL's ranks, because a result can contain both. */
function rankOf(hits: number, stems: readonly (string | null)[]): number {
  if (hits === 0) return 0;
  const rank = (0.1 * hits) / Math.log(1 + stems.filter((stem) => stem !== null).length);
  return rank / (1 + rank);
}

/** Counts the occurrences of a phrase. `null` in the phrase matches any one word. */
function occurs(stems: readonly (string | null)[], phrase: readonly (string | null)[]): number {
  let count = 0;
  for (let i = 0; i + phrase.length <= stems.length; i++)
    if (phrase.every((stem, j) => stem === null || stem === stems[i + j])) count++;
  return count;
}
