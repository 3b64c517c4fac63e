import type { TaskExecutionState } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Bulk } from "../parts/bulk.tsx";
import { Choice, Filters, Word } from "../parts/filters.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { RunList } from "../parts/run-list.tsx";
import { subjectLabel } from "../parts/subject.tsx";
import { query } from "../route/location.ts";
import { meaningOf } from "../words.ts";

export const runStates = ["queued", "held", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
const names = ["task_id", "agent_id", "subject", "q", "cursor"] as const;

/** The filters in the address, as the operations take them. */
export function runFilter() {
  const given = Object.fromEntries(names.map((name) => [name, query.value.get(name) ?? undefined]));
  const state = (query.value.get("state") ?? undefined) as TaskExecutionState | undefined;
  return { ...(given as { [name in (typeof names)[number]]: string | undefined }), state };
}

export function RunsPage() {
  const filter = runFilter();
  const runs = useQuery(`runs ${JSON.stringify(filter)}`, (signal) =>
    list("task-executions.list", { ...filter, limit: 50 }, signal),
  );
  const filtered = Object.values(filter).some(Boolean);
  return (
    <Page title="Runs">
      <RunFilters />
      <Shown query={runs} lines={10}>
        {(page) =>
          page.items.length === 0 ? (
            <NoRuns filtered={filtered} />
          ) : (
            <>
              {filter.state === "failed" && (
                <Bulk
                  label="Restart all"
                  total={page.total}
                  find={async (limit) => (await list("task-executions.list", { ...filter, cursor: undefined, limit })).items}
                  nameOf={({ task_id, subject }) => `${task_id} for ${subjectLabel(subject)}`}
                  run={({ id }) => call("tasks.restart", { id })}
                  reload={runs.reload}
                  about={<p>Each run goes on after its last finished step. You can cancel them while they run.</p>}
                />
              )}
              <RunList runs={page.items} />
              <Pager page={page} />
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
      <Word name="q" label="Words of the error" />
      <Word name="subject" label="Issue" placeholder="acme/webshop#42" />
      <Choice name="state" label="State" options={runStates.map((one) => [one, meaningOf(one).label])} />
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
