import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Empty, Page, Section, Shown } from "../parts/page.tsx";
import { RunList } from "../parts/run-list.tsx";
import { countText } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { Failures } from "./failures.tsx";
import { FirstSteps } from "./first-steps.tsx";

export function NowPage() {
  return (
    <Page title="Now">
      <FirstSteps />
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
