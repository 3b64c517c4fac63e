import type { RoutingHits, SourceEventMapping, Task, TriggerTaskMapping } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { rights } from "../api/session.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Field, Form, textOf } from "../parts/form.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { Table } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { amountText } from "../parts/time.tsx";
import { SeedAgents, SeedMore } from "./seed.tsx";
import { TryEvent, TryPayload } from "./try-event.tsx";

const all = { limit: 1000 };

export function RoutingPage() {
  const routing = useQuery("routing", async (signal) => {
    const [sources, triggers, tasks, hits] = await Promise.all([
      list("sources.list", all, signal),
      list("triggers.list", all, signal),
      list("tasks.list", all, signal),
      call("routing.hits", {}, signal),
    ]);
    return { sources: sources.items, triggers: triggers.items, tasks: tasks.items, hits };
  });
  return (
    <Page title="Routing">
      <Section title="From event to task">
        <QueryResult query={routing} lines={8}>
          {(data) =>
            data.sources.length + data.triggers.length === 0 ? (
              <Empty title="No events are mapped yet.">
                <p>The defaults turn new issues and pull requests into runs. You can also add your own mappings below.</p>
                <SeedAgents reload={routing.reload} />
              </Empty>
            ) : (
              <>
                <Matrix {...data} reload={routing.reload} />
                <SeedMore reload={routing.reload} />
              </>
            )
          }
        </QueryResult>
      </Section>
      <TryEvent />
      <TryPayload />
      <NewMappings reload={routing.reload} />
    </Page>
  );
}

interface MatrixProps {
  readonly sources: readonly SourceEventMapping[];
  readonly triggers: readonly TriggerTaskMapping[];
  readonly tasks: readonly Task[];
  readonly hits: RoutingHits;
  readonly reload: () => Promise<void>;
}

const sum = (rows: readonly { readonly hits: number }[]): number => rows.reduce((total, { hits }) => total + hits, 0);

/**
 * Number of events that a mapping matched. A mapping without an action matches the events whose action no other mapping names.
 */
const hitCount = (mapping: SourceEventMapping, { events }: RoutingHits, sources: readonly SourceEventMapping[]): number => {
  const isOthers = (action: string | null) =>
    sources.some((one) => one.source === mapping.source && one.event_name === mapping.event_name && one.action === action);
  const matchingEvents = events.filter(
    ({ source, event_name, action, canonical_trigger }) =>
      source === mapping.source &&
      event_name === mapping.event_name &&
      canonical_trigger === mapping.canonical_trigger &&
      (action === mapping.action || (mapping.action === null && !isOthers(action))),
  );
  return sum(matchingEvents);
};

/**
 * One row per trigger: the events that fire it on the left, the tasks that it starts on the right, each with its recent count.
 */
function Matrix({ sources, triggers, tasks, hits, reload }: MatrixProps) {
  const names = [...new Set([...sources, ...triggers].map(({ canonical_trigger }) => canonical_trigger))].sort();
  const hitsOf = (name: string) => sum(hits.events.filter(({ canonical_trigger }) => canonical_trigger === name));
  const runsOf = ({ canonical_trigger, task_id }: TriggerTaskMapping) =>
    sum(hits.tasks.filter((one) => one.canonical_trigger === canonical_trigger && one.task_id === task_id));
  const days = Math.floor((Date.now() - Date.parse(hits.from)) / 86_400_000);
  return (
    <>
      <p class="hint above">Hits in the last {days} days, including dry runs and replays.</p>
      <Table label="Events, triggers and tasks" columns={["Event", "Trigger", "Tasks"]}>
        {names.map((name) => (
          <tr key={name}>
            <td data-label="Event">
              <Chips>
                {sources
                  .filter((one) => one.canonical_trigger === name)
                  .map((one) => (
                    <Chip
                      key={one.id}
                      label={`${one.source} ${one.event_name}${one.action ? ` ${one.action}` : ""}`}
                      trigger={name}
                      hits={hitCount(one, hits, sources)}
                      remove={() => call("sources.delete", { id: one.id })}
                      reload={reload}
                    />
                  ))}
              </Chips>
            </td>
            <th scope="row" data-label="Trigger">
              <code>{name}</code> <Hits count={hitsOf(name)} />
            </th>
            <td data-label="Tasks">
              <Chips>
                {triggers
                  .filter((one) => one.canonical_trigger === name)
                  .map((one) => (
                    <Chip
                      key={one.id}
                      label={taskLabel(one, tasks)}
                      trigger={name}
                      hits={runsOf(one)}
                      remove={() => call("triggers.delete", { id: one.id })}
                      reload={reload}
                    />
                  ))}
              </Chips>
            </td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function taskLabel({ task_id, conditions }: TriggerTaskMapping, tasks: readonly Task[]): string {
  const note = tasks.some(({ id }) => id === task_id) ? "" : " (no such task)";
  const conditionTexts = Object.entries(conditions).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return `${task_id}${note}${conditionTexts.length > 0 ? ` if ${conditionTexts.join(", ")}` : ""}`;
}

function Chips({ children }: { children: preact.ComponentChildren[] }) {
  return children.length === 0 ? <span class="soft">nothing</span> : <ul class="chips">{children}</ul>;
}

const Hits = ({ count }: { count: number }) => (
  <span class="soft">{count === 0 ? "no hits" : amountText(count, ["hit", "hits"])}</span>
);

interface ChipProps {
  readonly label: string;
  readonly trigger: string;
  readonly hits: number;
  readonly remove: () => Promise<unknown>;
  readonly reload: () => Promise<void>;
}

function Chip({ label, trigger, hits, remove, reload }: ChipProps) {
  return (
    <li>
      <span>
        <Text>{label}</Text>
      </span>{" "}
      <Hits count={hits} />
      {rights.value.write && (
        <ActionButton
          label="Remove"
          of={`${label} from ${trigger}`}
          kind="danger"
          confirm={<p>“{label}” will no longer fire. You can add it again below.</p>}
          run={async () => {
            await remove();
            await reload();
          }}
        />
      )}
    </li>
  );
}

function NewMappings({ reload }: { reload: () => Promise<void> }) {
  const addEvent = async (values: FormData) => {
    const [source, event_name, canonical_trigger] = ["source", "event_name", "canonical_trigger"].map((name) =>
      textOf(values, name),
    ) as [string, string, string];
    await call("sources.create", { source, event_name, action: textOf(values, "action") || null, canonical_trigger });
    await reload();
  };
  const addTask = async (values: FormData) => {
    await call("triggers.create", { canonical_trigger: textOf(values, "canonical_trigger"), task_id: textOf(values, "task_id") });
    await reload();
  };
  return (
    <div class="side-by-side">
      <Section title="Map an event to a trigger">
        <Form label="Add event" run={addEvent} done="Added" needs="write">
          <Field name="source" label="Source" required placeholder="alpha" />
          <Field name="event_name" label="Event" required placeholder="issues" />
          <Field name="action" label="Action" placeholder="any" />
          <Field name="canonical_trigger" label="Trigger" required placeholder="issue.created" />
        </Form>
      </Section>
      <Section title="Map a trigger to a task">
        <Form label="Add task" run={addTask} done="Added" needs="write">
          <Field name="canonical_trigger" label="Trigger" required placeholder="issue.created" />
          <Field name="task_id" label="Task" required placeholder="triage_initial_intent" />
        </Form>
      </Section>
    </div>
  );
}
