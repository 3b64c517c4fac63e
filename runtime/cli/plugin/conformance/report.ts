import { dirname, join } from "node:path";

export interface CaseResult {
  readonly name: string;
  readonly ok: boolean;
  readonly ms: number;
  /** What the plugin did, and what was expected. */
  readonly error?: string;
}

/** `dist/conformance.json`: which cases were run against which bundle. */
export interface Report {
  readonly plugin: { readonly id: string; readonly version: string; readonly sha256: string };
  /** Version of the sdk that contains the suites. */
  readonly suites: string;
  readonly runtime: string;
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly CaseResult[];
  readonly warnings: readonly string[];
}

/** Path of the report on a bundle. */
export const reportPathOf = (bundle: string): string => join(dirname(bundle), "conformance.json");
