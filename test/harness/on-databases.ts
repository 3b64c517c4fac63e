import { describe, test } from "vitest";
import type { Flavour } from "./databases.ts";

const flavours = { embedded: [], postgres: ["postgres" as const] };
const each = Object.entries(flavours) as [Flavour, "postgres"[]][];

/** One test on each database. Without `TEST_DATABASE_URL`, the test on PostgreSQL is skipped. */
export function testOnDatabases(name: string, run: (flavour: Flavour) => Promise<void>, timeout?: number): void {
  for (const [flavour, tags] of each)
    test(`${name} (${flavour})`, { tags, ...(timeout !== undefined && { timeout }) }, () => run(flavour));
}

/** The same for all tests of a suite. */
export function describeOnDatabases(name: string, define: (flavour: Flavour) => void): void {
  for (const [flavour, tags] of each) describe(`${name} (${flavour})`, { tags }, () => define(flavour));
}
