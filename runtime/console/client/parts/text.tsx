import { useState } from "preact/hooks";

/** Characters that reorder or hide text: their code points are shown instead. */
const misleadingCharacters = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u200b\u2060\ufeff\p{Cc}]/gu;
const keptControls = /[\n\t]/;

/** An external text. Characters that could change how it reads are made visible. */
export const plain = (text: string): string =>
  text.replace(misleadingCharacters, (one) =>
    keptControls.test(one) ? one : `‹U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}›`,
  );

/** An external text on one line. */
export function Text({ children, max = 200 }: { children: string | null | undefined; max?: number }) {
  const text = children ?? "";
  const short = text.length > max ? `${text.slice(0, max)}…` : text;
  return <bdi>{plain(short)}</bdi>;
}

/** The name of one of several equal buttons or links: `Remove: triage`. It begins with what it shows, so that it can be spoken. */
export const nameIn = (label: string, of: string | undefined): string | undefined =>
  of === undefined ? undefined : `${label}: ${plain(of.slice(0, 200))}`;

/** A longer text is shown completely only on request. */
const shownAtFirst = 8_000;

/** A long text with its line breaks. */
export function Block({ text, label }: { text: string; label?: string }) {
  const [whole, setWhole] = useState(false);
  const isCut = !whole && text.length > shownAtFirst;
  return (
    <div class="block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it */}
      <section tabIndex={0} aria-label={label ?? "Text"}>
        <pre>{plain(isCut ? text.slice(0, shownAtFirst) : text)}</pre>
      </section>
      {isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString("en")} characters
        </button>
      )}
    </div>
  );
}

/** The value as JSON; a string is shown as it is. */
export const asText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? ""));

export function Copy({ text, label = "Copy", of }: { text: string; label?: string; of?: string }) {
  const [result, setResult] = useState<"Copied" | "Not copied: select the text" | null>(null);
  const copy = async (button: HTMLElement) => {
    setResult((await isCopied(text, button)) ? "Copied" : "Not copied: select the text");
    setTimeout(() => setResult(null), 1_500);
  };
  return (
    <button
      type="button"
      class="quiet small"
      aria-label={result === null ? nameIn(label, of) : undefined}
      onClick={(event) => void copy(event.currentTarget)}
    >
      <span aria-live="polite">{result ?? label}</span>
    </button>
  );
}

/** Over HTTP, except on this machine, browsers have no clipboard API: there, the text of a field is copied. */
async function isCopied(text: string, button: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.className = "sr";
    field.value = text;
    button.after(field);
    field.select();
    const isDone = document.execCommand("copy");
    field.remove();
    button.focus();
    return isDone;
  }
}
