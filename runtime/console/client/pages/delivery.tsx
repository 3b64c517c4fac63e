import { useState } from "preact/hooks";
import type { WebhookEventWithPayload } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { NextStep, Page, QueryResult, Section } from "../parts/page.tsx";
import { Prose } from "../parts/prose.tsx";
import { SubjectLink } from "../parts/subject.tsx";
import { asText, Block, plain, Text } from "../parts/text.tsx";
import { Time } from "../parts/time.tsx";
import { remedyOf } from "../remedies.ts";
import { Link } from "../route/link.tsx";
import { navigate, pageUrl } from "../route/location.ts";
import { deliveries } from "../words.ts";
import { eventLabel } from "./deliveries.tsx";

export function DeliveryPage({ id }: { id: string }) {
  const event = useQuery(`delivery ${id}`, (signal) => call("webhook-events.get", { id }, signal));
  return (
    <Page
      title={event.data ? <DeliveryTitle event={event.data} /> : "Delivery"}
      name={event.data ? plain([eventLabel(event.data), event.data.subject_title].filter(Boolean).join(" · ")) : "Delivery"}
      actions={event.data && <Replay id={id} />}
    >
      <QueryResult query={event} lines={6}>
        {(data) => (
          <>
            <Verdict event={data} />
            <Facts event={data} />
            <Runs event={data} />
            <Payload payload={data.payload} />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

const DeliveryTitle = ({ event }: { event: WebhookEventWithPayload }) => (
  <>
    <Text>{eventLabel(event)}</Text>{" "}
    {event.subject && (
      <span class="soft">
        about <SubjectLink subject={event.subject} title={event.subject_title} />
      </span>
    )}
  </>
);

function Replay({ id }: { id: string }) {
  const replay = async () => {
    const receipt = await call("webhook-events.replay", { id });
    navigate(pageUrl(`delivery/${receipt.event_id}`));
  };
  return (
    <ActionButton
      label="Replay"
      needs="write"
      confirm={
        <p>
          Dispatches the delivery again as a new one, with the current routing. Its tasks run and post their answers. Signalbox
          cannot undo what they write to the tracker.
        </p>
      }
      run={replay}
    />
  );
}

/** The outcome in words, its reason, and what to do to change it. */
function Verdict({ event }: { event: Pick<WebhookEventWithPayload, "outcome" | "reason"> }) {
  const remedy = remedyOf(event.reason);
  const { sentence, next } = remedy ?? deliveries[event.outcome];
  return (
    <div class="card verdict">
      <p>
        <State of="delivery" state={event.outcome} /> {sentence}
      </p>
      {event.reason && (
        <p>
          <Prose text={event.reason} />
        </p>
      )}
      <NextStep next={next} remedy={remedy} />
    </div>
  );
}

function Facts({ event }: { event: WebhookEventWithPayload }) {
  return (
    <Section title="Delivery">
      <dl class="facts">
        <dt>Issue</dt>
        <dd>
          <SubjectLink subject={event.subject} />
        </dd>
        <dt>Source</dt>
        <dd>
          {event.source} <span class="soft">{event.polled ? "found by polling" : `at /webhook/${event.slug}`}</span>
        </dd>
        <dt>By</dt>
        <dd>
          <Text>{event.actor ?? "unknown"}</Text>
          {event.author && (
            <span class="soft">
              {" "}
              ({event.author.kind}, {event.author.standing})
            </span>
          )}
        </dd>
        <dt>Received</dt>
        <dd>
          <Time at={event.received_at} />
        </dd>
        <dt>Triggers</dt>
        <dd>{event.canonical_triggers.join(", ") || "none"}</dd>
        {event.delivery_id && (
          <>
            <dt>Delivery id</dt>
            <dd>
              <code>
                <Text>{event.delivery_id}</Text>
              </code>
            </dd>
          </>
        )}
        {event.replay_of && (
          <>
            <dt>Replay of</dt>
            <dd>
              <Link to={`delivery/${event.replay_of}`}>an earlier delivery</Link>
            </dd>
          </>
        )}
      </dl>
    </Section>
  );
}

function Runs({ event }: { event: WebhookEventWithPayload }) {
  if (event.executions.length === 0) return null;
  return (
    <Section title="Runs">
      <ul class="list">
        {event.executions.map(({ id, task_id, state }) => (
          <li key={id}>
            <State of="run" state={state} />
            <span class="main">
              <Link class="title" to={`run/${id}`}>
                {task_id}
              </Link>
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Payload({ payload }: { payload: unknown }) {
  const [shown, setShown] = useState(false);
  return (
    <Section
      title="Payload"
      aside={
        <button type="button" class="quiet" aria-expanded={shown} onClick={() => setShown(!shown)}>
          {shown ? "Hide" : "Show"}
        </button>
      }
    >
      {shown && <Block text={asText(payload)} label="Payload" />}
    </Section>
  );
}
