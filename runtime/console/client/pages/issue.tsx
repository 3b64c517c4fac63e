import type { TaskExecution, WebhookEvent } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { subjectLabel } from "../parts/subject.tsx";
import { Text } from "../parts/text.tsx";
import { durationText, Time } from "../parts/time.tsx";
import { External, Link } from "../route/link.tsx";
import { query } from "../route/location.ts";
import { failureOf, meaningOf } from "../words.ts";
import { eventLabel } from "./deliveries.tsx";
import { Verdict } from "./delivery.tsx";
import { RunActions } from "./run-actions.tsx";

/** Newest deliveries that are shown. */
const most = 100;

/** Everything that happened to one issue, oldest first: delivery, verdict, trigger, runs, comments. */
export function IssuePage() {
  const subject = query.value.get("subject") ?? "";
  const story = useQuery(subject ? `issue ${subject}` : null, async (signal) => {
    const [events, runs] = await Promise.all([
      list("webhook-events.list", { subject, limit: most }, signal),
      list("task-executions.list", { subject, limit: most, fields: "result" }, signal),
    ]);
    return { events: events.items.toReversed(), runs: runs.items, more: events.total > most };
  });
  return (
    <Page title={<Text>{subjectLabel(subject)}</Text>} name={subjectLabel(subject)}>
      <Shown query={story} lines={6}>
        {({ events, runs, more }) =>
          events.length === 0 ? (
            <Empty title="Nothing was delivered for this issue.">
              See <Link to="deliveries">Deliveries</Link> for what arrived, and <Link to="connections">Connections</Link> for the
              address that the tracker must send its webhooks to.
            </Empty>
          ) : (
            <>
              {more && (
                <p class="hint">
                  The newest {most} deliveries.{" "}
                  <Link to="deliveries" query={{ subject }}>
                    See all
                  </Link>
                </p>
              )}
              <ol class="timeline">
                {events.map((event) => (
                  <Delivered
                    key={event.id}
                    event={event}
                    runs={runs.filter((run) => run.event_id === event.id)}
                    reload={story.reload}
                  />
                ))}
              </ol>
            </>
          )
        }
      </Shown>
    </Page>
  );
}

interface DeliveredProps {
  readonly event: WebhookEvent;
  readonly runs: readonly TaskExecution[];
  readonly reload: () => Promise<void>;
}

function Delivered({ event, runs, reload }: DeliveredProps) {
  return (
    <>
      <li class={event.outcome === "discarded" ? "" : "good"}>
        <div class="node-head">
          <strong>
            <Link to={`delivery/${event.id}`}>
              <Text>{eventLabel(event)}</Text>
            </Link>
          </strong>
          <span class="soft">
            by <Text>{event.actor ?? "unknown"}</Text>
          </span>
          <span class="soft small-text">
            <Time at={event.received_at} />
          </span>
        </div>
        {event.outcome === "dispatched" ? (
          <p class="soft">
            Fired {event.canonical_triggers.join(", ")}
            {runs.length === 0 && `. ${event.reason ?? "No task is mapped to it, so nothing ran."}`}
          </p>
        ) : (
          <div class="node-body">
            <Verdict event={event} />
          </div>
        )}
      </li>
      {runs.toReversed().map((run) => (
        <Ran key={run.id} run={run} reload={reload} />
      ))}
    </>
  );
}

function Ran({ run, reload }: { run: TaskExecution; reload: () => Promise<void> }) {
  const { tone, next } = meaningOf(run.state);
  const remedy = run.state === "failed" ? failureOf(run.error) : null;
  const why = run.error ?? run.held_reason ?? run.waiting_for;
  return (
    <li class={tone}>
      <div class="node-head">
        <strong>
          <Link to={`run/${run.id}`}>
            <Text>{run.task_id}</Text>
          </Link>
        </strong>
        <State state={run.state} />
        {run.agent_id && <span class="soft">by {run.agent_id}</span>}
        <span class="soft small-text">{run.duration_ms !== null && `took ${durationText(run.duration_ms)}`}</span>
      </div>
      <div class="node-body">
        {why && run.state !== "succeeded" && (
          <p class={run.state === "failed" ? "refused" : "soft"}>
            <Text max={600}>{why}</Text>
          </p>
        )}
        {run.state !== "succeeded" && next && (
          <p class="soft">
            {remedy ? `${remedy.sentence} ${remedy.next}` : next}{" "}
            {remedy?.page && <Link to={remedy.page}>{remedy.button ?? "Open"}</Link>}
          </p>
        )}
        <div class="buttons">
          <RunActions run={run} reload={reload} />
        </div>
        {run.result && (
          <div class="card">
            <Markdown text={run.result} label="Answer" />
            {run.result_url && (
              <p class="card-foot">
                <External url={run.result_url}>Open the comment</External>
              </p>
            )}
          </div>
        )}
      </div>
    </li>
  );
}
