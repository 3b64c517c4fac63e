import type { Source } from "../source.ts";

/** A source under test, with the lines that it logs. */
export interface SourceHarness {
  readonly source: Source;
  readonly settings: (url: string, more?: Record<string, unknown>) => Record<string, unknown>;
  /** Values of the secret members of the connection. */
  readonly secrets: readonly string[];
  readonly lines: readonly string[];
}
export type OpenSource = () => Promise<SourceHarness>;
