import type { ReadText } from "./arguments.ts";

/** What a command reads and writes. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  readonly read: ReadText;
  /** Standard output is a terminal: lists are printed as tables. */
  readonly interactive: boolean;
  readonly columns: number;
}
