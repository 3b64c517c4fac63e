import type { ComponentChildren } from "preact";

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  /** Columns with numbers, after the others. */
  readonly numbers?: readonly string[];
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A table. If it is wider than the screen, it scrolls separately, also with the keyboard. */
export function Table({ label, columns, numbers = [], class: name, children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so keys must reach it
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table class={name}>
        <thead>
          <tr>
            {columns.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            {numbers.map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
