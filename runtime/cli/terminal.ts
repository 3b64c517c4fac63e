import type { ReadText } from "./arguments.ts";

/** The input and output of a command. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly read: ReadText;
  /** Whether standard output is a terminal; then lists are printed as tables. */
  readonly interactive: boolean;
  readonly columns: number;
}
