import type { TaskExecution } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { RunList } from "../parts/run-list.tsx";
import { Text } from "../parts/text.tsx";
import { countText, Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";

/** Failures that are looked at for the groups. */
const recent = 200;

export function NowPage() {
  return (
    <Page title="Now">
      <Counts />
      <Working />
      <Failures />
    </Page>
  );
}

function Counts() {
  const usage = useQuery("usage", async (signal) => {
    const count = async (state: "queued" | "held" | "running" | "waiting" | "failed") =>
      (await list("task-executions.list", { state, limit: 1 }, signal)).total;
    const [running, queued, held, waiting, failed] = await Promise.all([
      count("running"),
      count("queued"),
      count("held"),
      count("waiting"),
      count("failed"),
    ]);
    return { running, queued, held, waiting, failed };
  });
  const { data } = usage;
  return (
    <div class="numbers" aria-busy={data === undefined}>
      {(["running", "queued", "held", "waiting", "failed"] as const).map((state) => (
        <Link key={state} to="runs" query={{ state }}>
          <strong>{data ? countText(data[state]) : "–"}</strong>
          <span>{state}</span>
        </Link>
      ))}
    </div>
  );
}

function Working() {
  const runs = useQuery("now running", (signal) => list("task-executions.list", { state: "running", limit: 20 }, signal));
  return (
    <Section title="Working on">
      <Shown query={runs} lines={2}>
        {({ items }) =>
          items.length > 0 ? (
            <RunList runs={items} />
          ) : (
            <Empty title="No agent is at work.">
              Open an issue at a connected tracker, or <Link to="deliveries">replay a delivery</Link>.
            </Empty>
          )
        }
      </Shown>
    </Section>
  );
}

/** Failed runs by their message: one cause is one line. */
function Failures() {
  const failed = useQuery("now failed", (signal) => list("task-executions.list", { state: "failed", limit: recent }, signal));
  return (
    <Section title="Failures by message">
      <Shown query={failed} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No run has failed." />
          ) : (
            <ul class="list">
              {groupsOf(items).map(({ message, runs }) => (
                <li key={message}>
                  <span class="state bad">{runs.length}</span>
                  <span class="main">
                    <Link class="title" to={`run/${runs[0]?.id}`}>
                      <Text max={240}>{message}</Text>
                    </Link>
                  </span>
                  <span class="side">{runs[0] && <Time at={runs[0].finished_at ?? runs[0].created_at} />}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Shown>
    </Section>
  );
}

interface Group {
  readonly message: string;
  readonly runs: readonly TaskExecution[];
}

/** Messages that differ in numbers and ids only are one. */
function groupsOf(runs: readonly TaskExecution[]): Group[] {
  const same = (text: string) => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, "·");
  const groups = Map.groupBy(runs, ({ error }) => same(error ?? ""));
  return [...groups.values()]
    .map((all) => ({ message: all[0]?.error ?? "no message", runs: all }))
    .sort((a, b) => b.runs.length - a.runs.length);
}
