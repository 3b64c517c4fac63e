import type { WebhookEvent } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { Bulk } from "../parts/bulk.tsx";
import { Choice, Filters, foundIn, Period, Word } from "../parts/filters.tsx";
import { Empty, Page, QueryResult } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Prose } from "../parts/prose.tsx";
import { Subject, subjectLabel } from "../parts/subject.tsx";
import { nameIn, plain, Text } from "../parts/text.tsx";
import { amountText, Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";

const outcomes = ["dispatched", "discarded", "refused"] as const;
const names = ["source", "subject", "q", "from", "to", "cursor"] as const;

export function DeliveriesPage() {
  const filterValues = Object.fromEntries(names.map((name) => [name, query.value.get(name) ?? undefined]));
  const outcome = (query.value.get("outcome") ?? undefined) as WebhookEvent["outcome"] | undefined;
  const filter = { ...filterValues, outcome };
  const { cursor: _, ...bulkFilter } = filterValues;
  const events = useQuery(
    `deliveries ${JSON.stringify(filter)}`,
    (signal) => list("webhook-events.list", { ...filter, limit: 50 }, signal),
    { keep: true },
  );
  return (
    <Page title="Deliveries">
      <DeliveryFilters found={foundIn(events, (page) => amountText(page.total, ["delivery", "deliveries"], page.atLeast))} />
      {filter.outcome === "discarded" && (
        <p class="buttons lead">
          <Bulk
            key={JSON.stringify(filter)}
            verb="Replay"
            nouns={["delivery", "deliveries"]}
            nameOf={(event: Pick<WebhookEvent, "event_name" | "action" | "subject">) =>
              `${eventLabel(event)}, ${subjectLabel(event.subject)}`
            }
            run={(confirm) =>
              call("webhook-events.bulk", {
                action: "replay",
                filter: { ...bulkFilter, outcome: "discarded" },
                ...(confirm && { confirm }),
              })
            }
            reload={events.reload}
            isEmpty={events.data?.total === 0}
            about={
              <p>Each delivery is dispatched again with the current routing. Signalbox cannot undo what their tasks write.</p>
            }
          />
        </p>
      )}
      <QueryResult query={events} lines={10}>
        {(page) =>
          page.items.length === 0 ? (
            <NoDeliveries isFiltered={Object.values(filter).some(Boolean)} />
          ) : (
            <>
              <DeliveryList events={page.items} />
              <Pager page={page} />
            </>
          )
        }
      </QueryResult>
    </Page>
  );
}

function NoDeliveries({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No deliveries match these filters.">Clear the filters to see all deliveries.</Empty>
  ) : (
    <Empty title="No deliveries yet.">
      See <Link to="connections">Connections</Link> for the webhook URL to use in your tracker.
    </Empty>
  );
}

function DeliveryFilters({ found }: { found: string | null }) {
  const mappings = useQuery("sources", (signal) => list("sources.list", { limit: 1000 }, signal), { live: false });
  const sources = new Set(["alpha", "beta", "gamma", "delta", ...(mappings.data?.items ?? []).map(({ source }) => source)]);
  return (
    <Filters found={found}>
      <Choice name="outcome" label="Outcome" options={outcomes.map((one) => [one, one])} />
      <Word name="q" label="Reason contains" />
      <Word name="subject" label="Issue" placeholder="acme/webshop#42" />
      <Choice name="source" label="Source" options={[...sources].map((one) => [one, one])} />
      <Period />
    </Filters>
  );
}

export function DeliveryList({ events }: { events: readonly Omit<WebhookEvent, "payload">[] }) {
  return (
    <ul class="list">
      {events.map((event) => (
        <li key={event.id}>
          <State of="delivery" state={event.outcome} />
          <span class="main">
            <Link
              class="title"
              to={`delivery/${event.id}`}
              name={nameIn(plain(eventLabel(event)), event.subject ? subjectLabel(event.subject) : event.source)}
            >
              <Text>{eventLabel(event)}</Text>
            </Link>{" "}
            {event.subject && (
              <>
                <span class="soft">about</span> <Subject subject={event.subject} title={event.subject_title} />
              </>
            )}{" "}
            {event.actor && (
              <span class="soft together">
                by <Text max={60}>{event.actor}</Text>
              </span>
            )}{" "}
            <span class="soft together">on {event.source}</span>
            {event.reason && (
              <span class="why">
                <Prose text={event.reason} max={240} />
              </span>
            )}
          </span>
          <span class="side at">
            <Time at={event.received_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Event and action in the platform's terms: `issues opened`. */
export const eventLabel = ({ event_name, action }: Pick<WebhookEvent, "event_name" | "action">): string =>
  [event_name ?? "unnamed event", action].filter(Boolean).join(" ");
