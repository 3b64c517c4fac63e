import type { Operation } from "@signalbox/schema/operation";
import type { z } from "zod";
import { visibleText } from "../platform/visible.ts";

/** JSON with all control characters escaped, because text from trackers must not control the terminal. */
export const asJson = (value: unknown): string => `${escapeControls(JSON.stringify(value, null, 2))}\n`;

/**
 * The same on one line. Characters that change the direction of text are escaped too, so that no log line can look like another
 * one.
 */
export const onOneLine = (value: unknown): string =>
  escapeControls(JSON.stringify(value)).replace(/[\p{Cf}\u2028\u2029]/gu, inHex);

/**
 * Output of a command that may contain external text: no character of it controls the terminal or changes the direction of text.
 * In JSON, these characters are escaped. A carriage return at the start redraws a progress line.
 */
export const printable = (text: string): string =>
  text.replace(/[^\n\t]+/g, (part, at) =>
    at === 0 && part.startsWith("\r") ? `\r${visibleText(part.slice(1))}` : visibleText(part),
  );

/** Text that may be from a plugin or a tracker, without characters that control the terminal. Line breaks are kept. */
export const withoutControlCharacters = (text: string): string => text.replace(/[^\P{Cc}\n\t]/gu, " ");

const escapeControls = (json: string): string => json.replace(/[\u007f-\u009f]/g, inHex);
const inHex = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

const maxCellWidth = 40;

/** What matters most about an event, an execution or an entry of a log, after its id: when, and how it ended. */
const firstMembers = [
  ["received_at", "created_at"],
  ["outcome", "state", "status", "level"],
];
/** Why. It is often too long for a column. */
const reasons = ["waiting_for", "error", "reason", "message"];

/**
 * A list as a table that fits the terminal. It shows the members with plain values, in the order of the schema. The rows of a
 * history begin with their id, time and outcome, and are followed by their reason.
 */
export function asTable(op: Operation, rows: readonly Record<string, unknown>[], columns: number): string {
  const items = (op.output as z.ZodObject).shape.items as z.ZodArray<z.ZodObject>;
  const members = Object.keys(items.element.shape);
  if (!("cursor" in op.input.shape)) return tableOf(members, rows, columns);
  const first = firstMembers.flatMap((names) => names.find((name) => members.includes(name)) ?? []);
  const orderedMembers = [...new Set([...members.slice(0, 1), ...first, ...members])].filter((name) => !reasons.includes(name));
  const [head, ...lines] = tableOf(orderedMembers, rows, columns).trimEnd().split("\n");
  const detailRows = rows.flatMap((row, at) => {
    const reason = reasons.map((name) => row[name]).find((text) => typeof text === "string" && text !== "");
    return [lines[at], ...(reason === undefined ? [] : [wrapText(oneLine(String(reason)), columns, "    ", "    ")])];
  });
  return `${[head, ...detailRows].join("\n")}\n`;
}

/** A table of the given members of the rows. Shows only plain values, and only columns that fit. */
export function tableOf(members: readonly string[], rows: readonly Record<string, unknown>[], columns: number): string {
  const names = members.filter((name) => rows.some((row) => isPlain(row[name]) && row[name] !== null));
  const all = names.map((name) => {
    const cells = rows.map((row) => cellOf(row[name]));
    return { name, cells, width: Math.max(name.length, ...cells.map((cell) => cell.length)) };
  });
  let used = -2;
  const shownColumns = all.filter(({ width }) => {
    if (used + 2 + width > columns && used >= 0) return false;
    used += 2 + width;
    return true;
  });
  const line = (cells: string[]) =>
    `${cells
      .map((cell, i) => cell.padEnd(shownColumns[i]?.width ?? 0))
      .join("  ")
      .trimEnd()}\n`;
  return [
    line(shownColumns.map(({ name }) => name.toUpperCase())),
    ...rows.map((_, i) => line(shownColumns.map(({ cells }) => cells[i] ?? ""))),
  ].join("");
}

/**
 * Wraps a text in lines of at most `columns` characters. `first` precedes the first line, and `indent` the others. Longer words
 * are not split.
 */
export function wrapText(text: string, columns: number, indent = "", first = ""): string {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(/\s+/)) {
    if (!isEmpty && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join("\n");
}

/** A time from the API without milliseconds. */
export const toSecond = (time: string): string => time.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/, "$1Z");

const isPlain = (value: unknown): boolean =>
  value === null ||
  ["string", "number", "boolean"].includes(typeof value) ||
  (Array.isArray(value) && value.every(isTextOrNumber));
const isTextOrNumber = (value: unknown): boolean => typeof value === "string" || typeof value === "number";

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();

function cellOf(value: unknown): string {
  if (value === null || value === undefined || !isPlain(value)) return "";
  const text = toSecond(Array.isArray(value) ? value.join(",") : String(value))
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  return text.length > maxCellWidth ? `${text.slice(0, maxCellWidth - 1)}…` : text;
}
