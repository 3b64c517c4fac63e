import type { Source } from "../contract.ts";

/** A source that was set up, with the lines it logs. */
export interface SourceHarness {
  readonly source: Source;
  readonly settings: (url: string, more?: Record<string, unknown>) => Record<string, unknown>;
  /** The values of the connection's secret members. */
  readonly secrets: readonly string[];
  readonly lines: readonly string[];
}
export type OpenSource = () => Promise<SourceHarness>;
