import { findKeys } from "./key-shapes.ts";
import { type SecretFinder, withoutMarkup } from "./secret-finder.ts";
import { endOf, shownForms, startOf } from "./shown-text.ts";

interface RedactedText {
  readonly text: string;
  /** What was removed: the names of our secrets, and the platforms whose keys other texts resemble. Contains no value. */
  readonly names: readonly string[];
}

/** The text without the values of our secrets, and without anything that looks like a key. */
export function redact(text: string, secrets: SecretFinder): RedactedText {
  const spans = shownForms(text)
    .flatMap(({ text: shown, isRepeated, withPlaces }) => {
      const found = [...secrets.find(shown), ...(isRepeated ? [] : keysIn(shown))];
      if (found.length === 0) return [];
      const form = withPlaces();
      return found.map(({ from, to, name }) => ({ from: startOf(form, from), to: endOf(form, to), name }));
    })
    .sort((a, b) => a.from - b.from || b.to - a.to);
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

/** The places of a text that look like keys, also if its formatting divides them. */
function keysIn(text: string): { from: number; to: number; name: string }[] {
  const { plainText, positions } = withoutMarkup(text);
  return findKeys(plainText).map(({ from, to, name }) => ({
    from: positions?.[from] ?? from,
    to: (positions?.[to - 1] ?? to - 1) + 1,
    name: `a key (${name})`,
  }));
}
