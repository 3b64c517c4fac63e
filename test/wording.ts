/** A phrasing that readers find hard to understand, and what to write instead. */
interface Banned {
  readonly phrase: RegExp;
  readonly instead: string;
}

/**
 * Phrasings that messages and pages must not contain. Names are decided in code review; this list contains only phrasings that
 * occurred repeatedly.
 */
export const banned: readonly Banned[] = [
  { phrase: /\b(nobody|somebody)\b/i, instead: "no one, someone, or the role: the operator, another replica" },
  { phrase: /\bstands?\b(?!-| alone\b)/i, instead: "is" },
  { phrase: /\btold\b/i, instead: "reported, named, configured" },
  { phrase: /\b(tells?|telling) of\b/i, instead: "reports, describes, says" },
  { phrase: /\ba thing of\b/i, instead: "name the thing" },
  { phrase: /\b(is|are|was|were) away\b/i, instead: "is unavailable" },
  { phrase: /\b(gives?|gave|given) up\b/i, instead: "stops, fails, is abandoned" },
  { phrase: /\blacks?\b/i, instead: "missing X" },
  { phrase: /\bwith none,|\bwithout one,? (it|the)\b/i, instead: "if X is not set" },
  { phrase: /\bwhat became of\b/i, instead: "the outcome" },
  { phrase: /\bthe care of\b/i, instead: "maintenance" },
  { phrase: /\bis too much:/i, instead: 'unexpected argument "x"' },
  { phrase: /\bnot written right\b/i, instead: "usage error" },
  { phrase: /\bhalf ?way\b/i, instead: "if interrupted" },
  { phrase: /\bbrought? no\b|\bbring(s|ing)? about\b/i, instead: "has no, causes" },
  { phrase: /\bas its number says\b/i, instead: "contains breaking changes that its version number does not announce" },
  { phrase: /\b(mustn't|needn't|need not)\b/i, instead: "does not have to" },
  {
    phrase: /\b(ends?|ended|resumes?|starts?|exits?|stops?|expires?|continues?|again) by (itself|themselves)\b/i,
    instead: "automatically, on its own, unexpectedly",
  },
  { phrase: /\bafter all[.,;]/i, instead: "leave it out" },
  { phrase: /\banswers? of the (model|agent|LLM)\b/i, instead: "the model's answer" },
  { phrase: /\bwords of (the|its|their)\b/i, instead: "X contains, words in X, X's words" },
  { phrase: /\bat work\b/i, instead: "is running, is working" },
  { phrase: /\bat the tracker\b/i, instead: "in the tracker" },
  { phrase: /\bgave no\b/i, instead: "returned no, has no" },
  { phrase: /\bthat is why\b/i, instead: "so" },
  { phrase: /\bperhaps\b/i, instead: "possibly" },
  { phrase: /[;,] got \$\{|, but is (\$\{|")/, instead: "must be X; it is Y" },
  {
    phrase: /(^|: )[Ee]xpected (an?|the|one|at most)\b|\(expected /,
    instead: "must be X; it is Y, or: is required; it must be X",
  },
];

/** Files that contained some when the list was created, and how many. It may only shrink. */
export const stillAllowed: Readonly<Record<string, number>> = {};

/** The banned phrasings in a text, each with what to write instead. */
export const faultsOf = (text: string): string[] =>
  banned.flatMap(({ phrase, instead }) => {
    const found = phrase.exec(text)?.[0];
    return found ? [`"${found}" (write: ${instead})`] : [];
  });
