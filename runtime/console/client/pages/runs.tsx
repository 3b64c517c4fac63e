import type { TaskExecutionState } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Choice, Filters } from "../parts/filters.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { RunList } from "../parts/run-list.tsx";
import { query } from "../route/location.ts";
import { meaningOf } from "../words.ts";

const states = ["queued", "held", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
const perPage = 50;

export function RunsPage() {
  const names = ["state", "task_id", "agent_id", "offset"] as const;
  const [state, task_id, agent_id, offset] = names.map((name) => query.value.get(name) ?? undefined);
  const filter = { state: state as TaskExecutionState | undefined, task_id, agent_id };
  const from = Number(offset ?? 0);
  const runs = useQuery(`runs ${JSON.stringify([filter, from])}`, (signal) =>
    list("task-executions.list", { ...filter, limit: perPage, offset: from }, signal),
  );
  return (
    <Page title="Runs">
      <RunFilters />
      <Shown query={runs} lines={10}>
        {({ items, total }) =>
          items.length === 0 ? (
            <NoRuns filtered={Boolean(state ?? task_id ?? agent_id)} />
          ) : (
            <>
              <RunList runs={items} />
              <Pager from={from} count={items.length} total={total} perPage={perPage} />
            </>
          )
        }
      </Shown>
    </Page>
  );
}

function RunFilters() {
  const tasks = useQuery("task ids", (signal) => list("tasks.list", { limit: 1000 }, signal), { live: false });
  const agents = useQuery("agent ids", (signal) => list("agents.list", { limit: 1000 }, signal), { live: false });
  return (
    <Filters>
      <Choice name="state" label="State" options={states.map((one) => [one, meaningOf(one).label])} />
      <Choice name="task_id" label="Task" options={(tasks.data?.items ?? []).map(({ id }) => [id, id])} />
      <Choice name="agent_id" label="Agent" options={(agents.data?.items ?? []).map(({ id }) => [id, id])} />
    </Filters>
  );
}

function NoRuns({ filtered }: { filtered: boolean }) {
  return filtered ? (
    <Empty title="No run matches these filters.">Clear the filters to see all runs.</Empty>
  ) : (
    <Empty title="Nothing has run yet.">
      A run begins when a delivery fires a trigger. See Deliveries for what has arrived, and Routing for what fires.
    </Empty>
  );
}
