import type { StorageTable } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Section, Shown } from "../parts/page.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { countText } from "../parts/time.tsx";
import { EraseData } from "./erase.tsx";

/** Tables that are shown at once, of sixty. */
const shownAtFirst = 10;

export function StorageSettings() {
  const storage = useQuery("storage", (signal) => call("storage.get", {}, signal));
  return (
    <Shown query={storage} lines={8}>
      {({ bytes, tables, retention }) => (
        <>
          <Section title="What is removed, and when">
            <ScrollBox label="Retention">
              <table>
                <thead>
                  <tr>
                    <th scope="col">What</th>
                    <th scope="col">After</th>
                    <th scope="col">Set by</th>
                    <th scope="col" class="number">
                      Due now
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {retention.map(({ what, setting, days, due }) => (
                    <tr key={what}>
                      <th scope="row">{what}</th>
                      <td data-label="After">{days === 0 ? "never" : `${days} days`}</td>
                      <td data-label="Set by">{setting ? <code>{setting}</code> : "fixed"}</td>
                      <td class="number" data-label="Due now">
                        {countText(due)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollBox>
          </Section>
          <EraseData />
          <Section title={`Tables, ${sizeText(bytes)} in all`}>
            <Tables label="Largest tables" tables={tables.slice(0, shownAtFirst)} />
            {tables.length > shownAtFirst && (
              <details>
                <summary>{tables.length - shownAtFirst} smaller tables</summary>
                <Tables label="Smaller tables" tables={tables.slice(shownAtFirst)} />
              </details>
            )}
          </Section>
        </>
      )}
    </Shown>
  );
}

const Tables = ({ label, tables }: { label: string; tables: readonly StorageTable[] }) => (
  <ScrollBox label={label}>
    <table>
      <thead>
        <tr>
          <th scope="col">Table</th>
          {["Rows", "Size", "Growth a day"].map((title) => (
            <th key={title} scope="col" class="number">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {tables.map(({ name, rows, bytes, bytes_per_day }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number" data-label="Rows">
              {countText(rows)}
            </td>
            <td class="number" data-label="Size">
              {sizeText(bytes)}
            </td>
            <td class="number" data-label="Growth a day">
              {bytes_per_day === null ? "–" : sizeText(bytes_per_day)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollBox>
);

function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
