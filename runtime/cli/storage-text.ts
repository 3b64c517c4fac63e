import type { Output } from "@signalbox/schema/operation";
import type { storage } from "@signalbox/schema/retention";
import { amountText } from "../platform/amount-text.ts";
import { tableOf, wrapText } from "./output.ts";

/** The largest tables are listed individually up to this number. */
const maxTables = 10;
/** The service counts no further. */
const maxDue = 10_000;

/** `signalbox storage`: the size of the database, its largest tables, and what retention will remove. */
export function storageText({ bytes, tables, retention }: Output<typeof storage>, columns: number): string {
  const largestTables = [...tables].sort((a, b) => b.bytes - a.bytes).slice(0, maxTables);
  const rows = largestTables.map((table) => {
    const growth = table.bytes_per_day;
    const per_day = growth === null ? "" : `${growth < 0 ? "-" : "+"}${sizeOf(Math.abs(growth))}`;
    return { table: table.name, rows: table.rows, size: sizeOf(table.bytes), per_day };
  });
  const otherTables = tables.length - largestTables.length;
  const lines = retention.map(({ what, setting, days, due }) => {
    const period = days === 0 ? "kept indefinitely" : `kept for ${amountText(days, "day")}`;
    const about = `${what}: ${period}${setting ? ` (${setting})` : ""}${due > 0 ? `; ${due}${due >= maxDue ? " or more" : ""} to remove now` : ""}`;
    return wrapText(about, columns, "    ", "  ");
  });
  return [
    `The database is ${sizeOf(bytes)}. Its largest tables:`,
    tableOf(["table", "rows", "size", "per_day"], rows, columns).trimEnd(),
    ...(otherTables > 0 ? [`and ${amountText(otherTables, "smaller table")}`] : []),
    "Retention:",
    ...lines,
    "",
  ].join("\n");
}

function sizeOf(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} kB`;
  return bytes < 1_000_000_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}
