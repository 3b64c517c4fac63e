import type { Setting } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Choice, Filters, foundIn, Word } from "../parts/filters.tsx";
import { Empty, QueryResult } from "../parts/page.tsx";
import { Table } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { amountText } from "../parts/time.tsx";
import { query } from "../route/location.ts";

const origins = [
  ["environment", "the environment"],
  ["file", "the .env file"],
  ["default", "the default"],
] as const;
const originText = (source: Setting["source"]): string => origins.find(([id]) => id === source)?.[1] ?? source;

/** Every setting with its effective value and its origin. */
export function ConfigurationSettings() {
  const configuration = useQuery("configuration", (signal) => call("configuration.get", {}, signal), { live: false });
  const word = (query.value.get("q") ?? "").toLowerCase();
  const from = query.value.get("from");
  const isMatch = ({ name, about, source }: Setting) =>
    (from === null || source === from) && `${name} ${about}`.toLowerCase().includes(word);
  return (
    <>
      <Filters
        found={foundIn(configuration, ({ settings }) => amountText(settings.filter(isMatch).length, ["setting", "settings"]))}
      >
        <Word name="q" label="Setting" placeholder="RETENTION" />
        <Choice name="from" label="Set by" options={origins} />
      </Filters>
      <p class="hint lead">The service reads settings when it starts. Change the environment or .env, then restart it.</p>
      <QueryResult query={configuration} lines={12}>
        {({ settings }) => {
          const matches = settings.filter(isMatch);
          return matches.length === 0 ? (
            <Empty title="No settings match these filters.">Clear the filters to see all settings.</Empty>
          ) : (
            <Settings settings={matches} />
          );
        }}
      </QueryResult>
    </>
  );
}

function Settings({ settings }: { settings: readonly Setting[] }) {
  return (
    <Table label="Settings" columns={["Setting", "Value", "Set by"]} class="settings">
      {settings.map(({ name, value, default: usual, source, about }) => (
        <tr key={name}>
          <th scope="row">
            <code>{name}</code>
            <span class="about">
              <Text>{about.replaceAll("`", "")}</Text>
            </span>
          </th>
          <td class="value" data-label="Value">
            {value === null ? <span class="soft">not set</span> : <Text max={300}>{value}</Text>}
            {source !== "default" && usual !== null && usual !== value && <span class="about">default: {usual}</span>}
          </td>
          <td data-label="Set by">{originText(source)}</td>
        </tr>
      ))}
    </Table>
  );
}
