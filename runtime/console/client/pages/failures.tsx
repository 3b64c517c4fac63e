import type { TaskExecution } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { QueryResult, Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";
import { countText, Time } from "../parts/time.tsx";
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
        {({ items }) =>
          items.length === 0 ? (
            <p class="soft">No run has failed.</p>
          ) : (
            <ul class="list">
              {groupsOf(items).map(({ message, runs }) => (
                <li key={message}>
                  <span class="state bad">{runs.length === 1 ? "1 run" : `${countText(runs.length)} runs`}</span>
                  <span class="main">
                    <Link class="title" to={`run/${runs[0]?.id}`}>
                      <Text max={240}>{message}</Text>
                    </Link>
                  </span>
                  {runs.length > 1 && (
                    <Link class="side" to="runs" query={{ state: "failed", q: wordsOf(message) }}>
                      See all
                    </Link>
                  )}
                  <span class="side at">{runs[0] && <Time at={runs[0].finished_at ?? runs[0].created_at} />}</span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryResult>
    </Section>
  );
}

/** The first words of a message, up to a number or an id, which differ between the runs of a group. */
const wordsOf = (message: string): string => (/^\D{12,100}/.exec(message)?.[0] ?? message.slice(0, 100)).trim();

interface Group {
  readonly message: string;
  readonly runs: readonly TaskExecution[];
}

/** Messages that differ only in numbers and ids form one group. */
function groupsOf(runs: readonly TaskExecution[]): Group[] {
  const same = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, "·");
  const groups = Map.groupBy(runs, ({ error }) => same(error ?? ""));
  return [...groups.values()]
    .map((all) => ({ message: all[0]?.error ?? "no message", runs: all }))
    .sort((a, b) => b.runs.length - a.runs.length);
}
