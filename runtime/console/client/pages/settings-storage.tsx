import type { StorageTable } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { QueryResult, Section } from "../parts/page.tsx";
import { Table } from "../parts/table.tsx";
import { amountText, countText } from "../parts/time.tsx";
import { EraseData } from "./erase.tsx";

/** Number of tables shown initially; there are about sixty. */
const shownAtFirst = 10;
/** The service counts no further. */
const maxDue = 10_000;

export function StorageSettings() {
  const storage = useQuery("storage", (signal) => call("storage.get", {}, signal));
  return (
    <QueryResult query={storage} lines={8}>
      {({ bytes, tables, retention }) => (
        <>
          <Section title="What is removed, and when">
            <Table label="Retention" columns={["What", "After", "Set by"]} numbers={["Due now"]}>
              {retention.map(({ what, setting, days, due }) => (
                <tr key={what}>
                  <th scope="row">{what}</th>
                  <td data-label="After">{days === 0 ? "never" : amountText(days, ["day", "days"])}</td>
                  <td data-label="Set by">{setting ? <code>{setting}</code> : "fixed"}</td>
                  <td class="number" data-label="Due now">
                    {countText(due)}
                    {due >= maxDue && "+"}
                  </td>
                </tr>
              ))}
            </Table>
          </Section>
          <Section title={`Tables, ${sizeText(bytes)} total`}>
            <Tables label="Largest tables" tables={tables.slice(0, shownAtFirst)} />
            {tables.length > shownAtFirst && (
              <details>
                <summary>{tables.length - shownAtFirst} smaller tables</summary>
                <Tables label="Smaller tables" tables={tables.slice(shownAtFirst)} />
              </details>
            )}
          </Section>
          <EraseData />
        </>
      )}
    </QueryResult>
  );
}

const Tables = ({ label, tables }: { label: string; tables: readonly StorageTable[] }) => (
  <Table label={label} columns={["Table"]} numbers={["Rows", "Size", "Growth per day"]}>
    {tables.map(({ name, rows, bytes, bytes_per_day }) => (
      <tr key={name}>
        <th scope="row">{name}</th>
        <td class="number" data-label="Rows">
          {countText(rows)}
        </td>
        <td class="number" data-label="Size">
          {sizeText(bytes)}
        </td>
        <td class="number" data-label="Growth per day">
          {bytes_per_day === null ? "–" : sizeText(bytes_per_day)}
        </td>
      </tr>
    ))}
  </Table>
);

/** In the units of `signalbox storage`. */
function sizeText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const size = Math.abs(bytes);
  const power = size < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(size) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
