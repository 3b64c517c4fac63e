import type { ComponentChildren } from "preact";

/** What is wider than a narrow screen scrolls by itself, also by keys. */
export function ScrollBox({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
