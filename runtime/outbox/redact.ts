import { findKeys } from "./key-shapes.ts";
import { type SecretFinder, withoutMarkup } from "./secret-finder.ts";

export interface RedactedText {
  readonly text: string;
  /** What was removed: the names of our secrets, and the platforms whose keys other texts resemble. Contains no value. */
  readonly found: readonly string[];
}

/** The text without the values of our secrets, and without anything that looks like a key. */
export function redact(text: string, secrets: SecretFinder): RedactedText {
  const { plain, positions } = withoutMarkup(text);
  const keys = findKeys(plain).map(({ from, to, name }) => ({
    from: positions?.[from] ?? from,
    to: (positions?.[to - 1] ?? to - 1) + 1,
    name: `a key (${name})`,
  }));
  const spans = [...secrets.find(text), ...keys].sort((a, b) => a.from - b.from || b.to - a.to);
  if (spans.length === 0) return { text, found: [] };
  let clean = "";
  let copied = 0;
  for (const { from, to } of spans) {
    if (to <= copied) continue;
    if (from >= copied) clean += `${text.slice(copied, from)}[redacted]`;
    copied = to;
  }
  return { text: clean + text.slice(copied), found: [...new Set(spans.map(({ name }) => name))] };
}
