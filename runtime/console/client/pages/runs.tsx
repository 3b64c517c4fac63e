import type { TaskExecution, TaskExecutionState } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Bulk } from "../parts/bulk.tsx";
import { Choice, Filters, foundIn, Moment, Period, Word } from "../parts/filters.tsx";
import { Empty, Page, QueryResult } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { RunList } from "../parts/run-list.tsx";
import { subjectLabel } from "../parts/subject.tsx";
import { amountText } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";

const runStates = ["queued", "held", "running", "waiting", "succeeded", "failed", "cancelled"] as const;
const names = ["task_id", "agent_id", "subject", "q", "from", "to", "finished_from", "finished_to", "cursor"] as const;

/** The filters from the page's address, in the format of the operations. */
function runFilter() {
  const filterValues = Object.fromEntries(names.map((name) => [name, query.value.get(name) ?? undefined]));
  const state = (query.value.get("state") ?? undefined) as TaskExecutionState | undefined;
  return { ...(filterValues as { [name in (typeof names)[number]]: string | undefined }), state };
}

export function RunsPage() {
  const filter = runFilter();
  const runs = useQuery(
    `runs ${JSON.stringify(filter)}`,
    (signal) => list("task-executions.list", { ...filter, limit: 50 }, signal),
    { keep: true },
  );
  const isFiltered = Object.values(filter).some(Boolean);
  return (
    <Page title="Runs">
      <RunFilters found={foundIn(runs, (page) => amountText(page.total, ["run", "runs"], page.atLeast))} />
      <BulkActions filter={filter} reload={runs.reload} isEmpty={runs.data?.total === 0} />
      <QueryResult query={runs} lines={10}>
        {(page) =>
          page.items.length === 0 ? (
            <NoRuns isFiltered={isFiltered} />
          ) : (
            <>
              <RunList runs={page.items} />
              <Pager page={page} />
            </>
          )
        }
      </QueryResult>
    </Page>
  );
}

type Action = "restart" | "release" | "approve" | "reject" | "cancel";

/** The bulk action for the runs of a state, and its meaning. */
const actions: Readonly<Record<string, readonly { action: Action; verb: string; about: string }[]>> = {
  failed: [
    {
      action: "restart",
      verb: "Restart",
      about: "Each run resumes after its last finished step. You can cancel them while they run.",
    },
  ],
  held: [
    {
      action: "release",
      verb: "Release",
      about: "Each run is queued and is no longer held by an hourly, daily or monthly budget. You can cancel them.",
    },
  ],
  waiting: [
    {
      action: "approve",
      verb: "Approve",
      about: "Signalbox writes the proposals to the trackers, each once. This cannot be undone.",
    },
    {
      action: "reject",
      verb: "Reject",
      about: "The proposals are discarded, and the runs are cancelled. To do the work again, replay their deliveries.",
    },
  ],
};
const cancel = {
  action: "cancel",
  verb: "Cancel",
  about: "The runs stop and post nothing more. They cannot be resumed. To do the work again, replay their deliveries.",
} as const;

interface BulkActionsProps {
  readonly filter: ReturnType<typeof runFilter>;
  readonly reload: () => Promise<void>;
  readonly isEmpty: boolean;
}

function BulkActions({ filter, reload, isEmpty }: BulkActionsProps) {
  const { cursor: _, ...rest } = filter;
  const state = filter.state ?? "";
  const open = ["queued", "held", "running", "waiting"].includes(state);
  const availableActions = [...(actions[state] ?? []), ...(open ? [cancel] : [])];
  if (availableActions.length === 0) return null;
  return (
    <p class="buttons lead">
      {availableActions.map(({ action, verb, about }) => (
        <Bulk
          key={`${action} ${JSON.stringify(rest)}`}
          verb={verb}
          nouns={["run", "runs"]}
          kind={action === "cancel" || action === "reject" ? "danger" : "primary"}
          nameOf={({ task_id, subject }: Pick<TaskExecution, "task_id" | "subject">) => `${task_id} for ${subjectLabel(subject)}`}
          run={(confirm) => call("task-executions.bulk", { action, filter: rest, ...(confirm && { confirm }) })}
          reload={reload}
          isEmpty={isEmpty}
          about={<p>{about}</p>}
        />
      ))}
    </p>
  );
}

function RunFilters({ found }: { found: string | null }) {
  const tasks = useQuery("task ids", (signal) => list("tasks.list", { limit: 1000 }, signal), { live: false });
  const agents = useQuery("agent ids", (signal) => list("agents.list", { limit: 1000 }, signal), { live: false });
  return (
    <Filters found={found}>
      <Choice name="state" label="State" options={runStates.map((one) => [one, one])} />
      <Word name="q" label="Error contains" />
      <Word name="subject" label="Issue" placeholder="acme/webshop#42" />
      <Choice name="task_id" label="Task" options={(tasks.data?.items ?? []).map(({ id }) => [id, id])} />
      <Choice name="agent_id" label="Agent" options={(agents.data?.items ?? []).map(({ id }) => [id, id])} />
      <Period />
      <Moment name="finished_from" label="Finished from" />
      <Moment name="finished_to" label="Finished to" />
    </Filters>
  );
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No runs match these filters.">Clear the filters to see all runs.</Empty>
  ) : (
    <Empty title="No runs yet.">
      A run starts when a delivery fires a trigger. See <Link to="deliveries">Deliveries</Link> for what has arrived, and{" "}
      <Link to="routing">Routing</Link> for what fires.
    </Empty>
  );
}
