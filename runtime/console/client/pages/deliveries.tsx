import type { WebhookEvent } from "../../../../schema/gen/client.ts";
import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { Choice, Filters } from "../parts/filters.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { subjectLabel } from "../parts/subject.tsx";
import { Text } from "../parts/text.tsx";
import { Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";

const perPage = 50;
const sources = ["alpha", "beta", "gamma", "delta"];

export function DeliveriesPage() {
  const [source, outcome] = ["source", "outcome"].map((name) => query.value.get(name) ?? undefined);
  const from = Number(query.value.get("offset") ?? 0);
  const filter = { source, outcome: outcome as WebhookEvent["outcome"] | undefined };
  const events = useQuery(`deliveries ${JSON.stringify([filter, from])}`, (signal) =>
    list("webhook-events.list", { ...filter, limit: perPage, offset: from }, signal),
  );
  return (
    <Page title="Deliveries">
      <Filters>
        <Choice name="source" label="Source" options={sources.map((one) => [one, one])} />
        <Choice name="outcome" label="Verdict" options={["dispatched", "discarded"].map((one) => [one, one])} />
      </Filters>
      <Shown query={events} lines={10}>
        {({ items, total }) =>
          items.length === 0 ? (
            <Empty title={source || outcome ? "No delivery matches these filters." : "Nothing has been delivered yet."}>
              <Link to="connections">Connections</Link> has the address that each tracker must send its webhooks to.
            </Empty>
          ) : (
            <>
              <DeliveryList events={items} />
              <Pager from={from} count={items.length} total={total} perPage={perPage} />
            </>
          )
        }
      </Shown>
    </Page>
  );
}

export function DeliveryList({ events }: { events: readonly WebhookEvent[] }) {
  return (
    <ul class="list">
      {events.map((event) => (
        <li key={event.id}>
          <State state={event.outcome} />
          <span class="main">
            <Link class="title" to={`delivery/${event.id}`}>
              <Text>{eventLabel(event)}</Text>
            </Link>{" "}
            <span class="soft">
              {event.source}, <Text>{subjectLabel(event.subject)}</Text>
              {event.actor && (
                <>
                  {" "}
                  by <Text>{event.actor}</Text>
                </>
              )}
            </span>
            {event.reason && (
              <span class="why">
                <Text max={240}>{event.reason}</Text>
              </span>
            )}
          </span>
          <span class="side">
            <Time at={event.received_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** `issues opened`, as the platform names it. */
export const eventLabel = ({ event_name, action }: Pick<WebhookEvent, "event_name" | "action">): string =>
  [event_name ?? "unnamed event", action].filter(Boolean).join(" ");
