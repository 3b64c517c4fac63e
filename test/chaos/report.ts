import type { Findings } from "./audit.ts";

export type Row = readonly [string, string | number];

/** Progress, one line each, with the seconds since the start. */
export function progress(text: string): void {
  process.stdout.write(`${(performance.now() / 1000).toFixed(0).padStart(5)} s  ${text}\n`);
}

/** The counts that must be zero for a run to pass. */
const promises: readonly (readonly [string, keyof Findings])[] = [
  ["lost", "lost"],
  ["ran twice", "ranTwice"],
  ["doubled in the end", "doubled"],
  ["missing writes", "missing"],
  ["unfinished comments", "unfinished"],
  ["stuck", "stuck"],
  ["failed", "failed"],
  ["refused webhooks", "refused"],
  ["crashes", "crashes"],
  ["outlived SIGTERM", "outlived"],
  ["unhandled errors", "unhandled"],
  ["do not serve", "notServing"],
];

const countOf = (value: unknown): number => (Array.isArray(value) ? value.length : Number(value));

/** The promises that did not hold, with their counts. */
export const broken = (findings: Findings): Row[] =>
  promises.map(([name, member]): Row => [name, countOf(findings[member])]).filter(([, count]) => count !== 0);

/** Prints the table, and the first few of the errors. */
export function print(title: string, measured: readonly Row[], findings: Findings): void {
  const rows: Row[] = [
    ...measured,
    ["deliveries accepted", findings.accepted],
    ["deliveries never answered", findings.unanswered.length],
    ["executions", `${findings.executions} (${listed(findings.states)})`],
    ["taken back", findings.takenBack.length],
    ["failed as their workers were killed", findings.killed],
    ...promises.map(([name, member]): Row => [name, countOf(findings[member])]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  process.stdout.write(`\n${title}\n${lines.join("\n")}\n`);
  for (const [name, member] of promises) {
    const value = findings[member];
    if (!Array.isArray(value) || value.length === 0) continue;
    process.stdout.write(`\n${name}:\n${value.slice(0, 8).map(shown).join("\n")}\n`);
  }
}

const shown = (one: unknown): string => `  ${typeof one === "string" ? one : JSON.stringify(one)}`;

/** `kill 12, pg-cut 9` */
export const listed = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

/** `median 1.2 s, longest 3.0 s (20 times, 1 never)` */
export function spread(milliseconds: readonly (number | null)[]): string {
  const times = milliseconds.filter((time) => time !== null).sort((a, b) => a - b);
  if (milliseconds.length === 0) return "none measured";
  if (times.length === 0) return `never (${milliseconds.length} times)`;
  const seconds = (ms: number | undefined) => `${((ms ?? 0) / 1000).toFixed(1)} s`;
  const never = milliseconds.length - times.length;
  const median = seconds(times[Math.floor((times.length - 1) / 2)]);
  return `median ${median}, longest ${seconds(times.at(-1))} (${milliseconds.length} times${never ? `, ${never} never` : ""})`;
}
