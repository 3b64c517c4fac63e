import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type Cell = string | number;
export interface Report {
  readonly name: string;
  readonly about: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** One line for each result that is a ratio. */
  readonly findings: readonly string[];
}

/**
 * Prints the table and writes it as JSON next to the benchmarks. Absolute numbers depend on the machine; ratios can be compared
 * between machines.
 */
export function report(result: Report): void {
  const text = [result.columns, ...result.rows].map((row) => row.map(show));
  const widths = result.columns.map((_, i) => Math.max(...text.map((row) => (row[i] ?? "").length)));
  const line = (row: string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join("  ");
  process.stdout.write(`\n${result.name}: ${result.about}\n${text.map(line).join("\n")}\n${result.findings.join("\n")}\n`);
  const folder = fileURLToPath(new URL("./results/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}${result.name}.json`, `${JSON.stringify(result, null, 2)}\n`);
}

const show = (cell: Cell): string =>
  typeof cell === "number" ? (cell >= 100 ? String(Math.round(cell)) : cell.toFixed(2)) : cell;

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** The median of some ratios with the lowest and highest: `0.61 (0.58 to 0.66)`. */
export function spread(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b);
  return `${median(values).toFixed(2)} (${(sorted[0] ?? 0).toFixed(2)} to ${(sorted.at(-1) ?? 0).toFixed(2)})`;
}
