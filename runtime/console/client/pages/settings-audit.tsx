import { useState } from "preact/hooks";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Filters, foundIn, Period, Word } from "../parts/filters.tsx";
import { Empty, QueryResult } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { asText, Block, nameIn, Text } from "../parts/text.tsx";
import { amountText, countText, Time } from "../parts/time.tsx";
import { query } from "../route/location.ts";

const names = ["actor", "operation", "object", "from", "to", "cursor"] as const;

/** The audit log: who changed which object. */
export function AuditSettings() {
  const filter = Object.fromEntries(names.map((name) => [name, query.value.get(name) ?? undefined]));
  const log = useQuery(`audit ${JSON.stringify(filter)}`, (signal) => list("audit-log.list", { ...filter, limit: 50 }, signal), {
    keep: true,
  });
  return (
    <>
      <Filters found={foundIn(log, (page) => amountText(page.total, ["change", "changes"], page.atLeast))}>
        <Word name="actor" label="Key" />
        <Word name="operation" label="Operation" placeholder="agents.update" />
        <Word name="object" label="Object" placeholder="agents/pm_default" />
        <Period />
      </Filters>
      <Verify />
      <QueryResult query={log} lines={8}>
        {(page) =>
          page.items.length === 0 ? (
            <NoChanges isFiltered={Object.values(filter).some(Boolean)} />
          ) : (
            <>
              <ul class="list">
                {page.items.map((entry) => (
                  <li key={entry.seq}>
                    <span class="main">
                      <strong>{entry.operation}</strong> <Text>{entry.object}</Text>
                      <details>
                        <summary
                          aria-label={nameIn("Before and after", `entry ${entry.seq}, ${entry.operation} ${entry.object}`)}
                        >
                          Before and after
                        </summary>
                        <p class="soft small-text">
                          Entry {entry.seq}, request <Text>{entry.request_id}</Text>
                        </p>
                        <div class="side-by-side">
                          <Block text={asText(entry.before ?? null)} label="Before" />
                          <Block text={asText(entry.after ?? null)} label="After" />
                        </div>
                      </details>
                    </span>
                    <span class="side">
                      <Text>{entry.actor}</Text>
                    </span>
                    <span class="side">
                      <Time at={entry.created_at} exact />
                    </span>
                  </li>
                ))}
              </ul>
              <Pager page={page} />
            </>
          )
        }
      </QueryResult>
    </>
  );
}

function NoChanges({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No changes match these filters.">Clear the filters to see all changes.</Empty>
  ) : (
    <Empty title="No changes yet.">
      Every change to agents, routing, keys and other settings is recorded here, with the key that made it.
    </Empty>
  );
}

function Verify() {
  const [result, setResult] = useState<string | null>(null);
  const verify = async () => {
    const { state, entries, broken_at } = await call("audit.verify", {});
    setResult(
      state === "intact"
        ? `No entries were changed or removed (${countText(entries)} checked).`
        : `An entry was changed or removed. The chain is broken at entry ${broken_at}.`,
    );
  };
  return (
    <p class="buttons lead">
      <ActionButton label="Check for tampering" run={verify} />
      <span role="status">{result}</span>
    </p>
  );
}
