import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Prints what happens, with the time since the start. Uses colours only on a terminal. */
export class Narrator {
  readonly #out: NodeJS.WriteStream;
  readonly #colours: boolean;
  readonly #start = performance.now();

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.#colours = out.isTTY === true && (out.hasColors?.() ?? true);
  }

  title(text: string, about: string): void {
    this.#write(`\n${this.style("bold", text)}\n${this.style("dim", about)}\n`);
  }

  heading(text: string): void {
    this.#write(`\n${this.style(["bold", "cyan"], text)}\n`);
  }

  /** Prints an action of `who`; `note` has details. */
  say(who: string, text: string, note = ""): void {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(2).padStart(6);
    const aside = note === "" ? "" : this.style("dim", `  ${note}`);
    this.#write(`${this.style("dim", `${seconds} s`)}  ${this.style("green", who.padEnd(10))} ${text}${aside}\n`);
  }

  /** Prints a quotation, indented behind a bar. */
  quote(text: string): void {
    const width = Math.max(40, Math.min(100, this.#out.columns ?? 100) - 14);
    for (const line of text.split("\n").flatMap((one) => wrapLine(one, width))) {
      this.#write(`${" ".repeat(10)}${this.style("dim", "│")} ${line}`.trimEnd().concat("\n"));
    }
  }

  plain(text = ""): void {
    this.#write(`${text}\n`);
  }

  style(style: Style, text: string): string {
    return this.#colours ? styleText(style, text, { validateStream: false }) : text;
  }

  #write(text: string): void {
    this.#out.write(text);
  }
}

/** Wraps at spaces and indents list items. A word longer than a line has a line of its own. */
export function wrapLine(line: string, width: number): string[] {
  const indent = " ".repeat(/^\s*(?:[-*]|\d+\.)\s+/.exec(line)?.[0].length ?? 0);
  const lines: string[] = [];
  let current = "";
  for (const [i, word] of line.split(" ").entries()) {
    if (i > 0 && current.trim() !== "" && current.length + 1 + word.length > width) {
      lines.push(current);
      current = indent + word;
    } else {
      current = i === 0 ? word : `${current} ${word}`;
    }
  }
  return [...lines, current];
}
