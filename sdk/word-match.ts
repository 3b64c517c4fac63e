/** Words that say nothing about a text; as PostgreSQL's English configuration has them. */
const stopWords = new Set(
  "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves what which who whom this that these those am is are was were be been being have has had having do does did doing a an the and but if or because as until while of at by for with about against between into through during before after above below to from up down in out on off over under again further then once here there when where why how all any both each few more most other some such no nor not only own same so than too very s t can will just don should now".split(
    " ",
  ),
);

/** How well a text matches, 0 to 1 on the scale of PostgreSQL's `ts_rank_cd`; 0 where words only had to be absent; `null`: not at all. */
export type Scorer = (content: string) => number | null;
/** Stems of the words of a text in their order; stop words leave a gap. */
type Stems = (text: string) => (string | null)[];

/** Finds words in English, for stores that cannot do it themselves. */
export interface WordMatcher {
  /** Web search syntax: every word of one alternative must occur. */
  all(query: string): Scorer;
  /** Whatever occurs counts; texts that have every word stand before the others. */
  any(query: string): Scorer;
}

/** `stem` takes a word in lower case to what it shares with its other forms: `deployments` to `deploy`. */
export function wordMatcher(stem: (word: string) => string): WordMatcher {
  const stems: Stems = (text) =>
    (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => (stopWords.has(word) ? null : stem(word)));
  return { all: (query) => scoreAll(query, stems), any: (query) => scoreAny(query, stems) };
}

/** What must occur: alternatives of clauses that must all hold. A clause is a phrase of one or more stems. */
interface Clause {
  readonly stems: readonly (string | null)[];
  readonly wanted: boolean;
}

/** Web search syntax: words, "phrases", `or`, and `-` before what must not occur. */
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

/** 0 to 1; long texts weigh less. The scale is that of PostgreSQL's ranks, which stand beside these in one result. */
function rankOf(hits: number, stems: readonly (string | null)[]): number {
  if (hits === 0) return 0;
  const rank = (0.1 * hits) / Math.log(1 + stems.filter((stem) => stem !== null).length);
  return rank / (1 + rank);
}

/** How often a phrase occurs; a gap in it stands for any one word. */
function occurs(stems: readonly (string | null)[], phrase: readonly (string | null)[]): number {
  let count = 0;
  for (let i = 0; i + phrase.length <= stems.length; i++)
    if (phrase.every((stem, j) => stem === null || stem === stems[i + j])) count++;
  return count;
}
