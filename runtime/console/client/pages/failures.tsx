import type { TaskExecution } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { commonWords, failureKind } from "../failure-kind.ts";
import { QueryResult, Section } from "../parts/page.tsx";
import { nameIn, Text } from "../parts/text.tsx";
import { amountText, countText, Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";

/** Number of failures that are read to form the groups. */
const maxFailures = 200;

/** The newest failed runs. */
export const useFailures = () =>
  useQuery("now failed", (signal) => list("task-executions.list", { state: "failed", limit: maxFailures }, signal));

/** Failed runs grouped by message, so that one cause is one line. */
export function Failures({ failed }: { failed: ReturnType<typeof useFailures> }) {
  return (
    <Section title="Failures by message">
      <QueryResult query={failed} lines={1}>
        {({ items, total, atLeast }) =>
          items.length === 0 ? (
            <p class="soft">No runs have failed.</p>
          ) : (
            <>
              {total > items.length && (
                <p class="hint above">
                  The latest {countText(items.length)} of {countText(total)}
                  {atLeast && "+"} failed runs.
                </p>
              )}
              <ul class="list">
                {groupsOf(items).map(({ message, runs }) => (
                  <li key={message}>
                    <span class="state bad">{amountText(runs.length, ["run", "runs"])}</span>
                    <span class="main">
                      <Link class="title" to={`run/${runs[0]?.id}`}>
                        <Text max={240}>{message}</Text>
                      </Link>
                    </span>
                    {runs.length > 1 && (
                      <Link
                        class="side"
                        to="runs"
                        query={{ state: "failed", q: commonWords(message) }}
                        name={nameIn("See all", message)}
                      >
                        See all
                      </Link>
                    )}
                    <span class="side at">{runs[0] && <Time at={runs[0].finished_at ?? runs[0].created_at} />}</span>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </QueryResult>
    </Section>
  );
}

interface Group {
  readonly message: string;
  readonly runs: readonly TaskExecution[];
}

function groupsOf(runs: readonly TaskExecution[]): Group[] {
  const groups = Map.groupBy(runs, ({ error }) => failureKind(error ?? ""));
  return [...groups.values()]
    .map((all) => ({ message: all[0]?.error ?? "no message", runs: all }))
    .sort((a, b) => b.runs.length - a.runs.length);
}
