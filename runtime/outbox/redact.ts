import { findKeys } from "./key-shapes.ts";
import { type SecretFinder, withoutMarkup } from "./secret-finder.ts";

interface RedactedText {
  readonly text: string;
  /** What was removed: the names of our secrets, and the platforms whose keys other texts resemble. Contains no value. */
  readonly names: readonly string[];
}

/** The text without the values of our secrets, and without anything that looks like a key. */
export function redact(text: string, secrets: SecretFinder): RedactedText {
  const { plainText, positions } = withoutMarkup(text);
  const keys = findKeys(plainText).map(({ from, to, name }) => ({
    from: positions?.[from] ?? from,
    to: (positions?.[to - 1] ?? to - 1) + 1,
    name: `a key (${name})`,
  }));
  const spans = [...secrets.find(text), ...keys].sort((a, b) => a.from - b.from || b.to - a.to);
  if (spans.length === 0) return { text, names: [] };
  let result = "";
  let copiedTo = 0;
  for (const { from, to } of spans) {
    if (to <= copiedTo) continue;
    if (from >= copiedTo) result += `${text.slice(copiedTo, from)}[redacted]`;
    copiedTo = to;
  }
  return { text: result + text.slice(copiedTo), names: [...new Set(spans.map(({ name }) => name))] };
}
