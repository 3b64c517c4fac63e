import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Filters, foundIn, Word } from "../parts/filters.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { SubjectLink } from "../parts/subject.tsx";
import { amountText, Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";
import { DeliveryList } from "./deliveries.tsx";

/** Number of events in which the latest issues are searched. */
const maxEvents = 200;

/** Maximum number of issues that a search shows. */
const maxFound = 50;

/** Issues that match the search, or that had events recently. */
export function IssuesPage() {
  const q = query.value.get("q") ?? "";
  const issues = useQuery(
    `issues ${q}`,
    async (signal) => {
      if (q) return { items: await call("subjects.search", { q, limit: maxFound }, signal), isCut: false };
      const { items, total } = await list("webhook-events.list", { limit: maxEvents }, signal);
      const groups = Map.groupBy(items, ({ subject }) => subject);
      const subjects = [...groups].flatMap(([subject, events]) => {
        const [latest] = events;
        if (!subject || !latest) return [];
        const title = events.find(({ subject_title }) => subject_title)?.subject_title ?? null;
        return [{ subject, title, source: latest.source, events: events.length, last_event_at: latest.received_at }];
      });
      return { items: subjects, isCut: total > maxEvents };
    },
    { keep: true },
  );
  return (
    <Page title="Issues">
      <Filters
        found={foundIn(issues, ({ items }) =>
          amountText(items.length, ["issue", "issues"], q !== "" && items.length === maxFound),
        )}
      >
        <Word name="q" label="Find an issue" placeholder="Title, number, key or URL" />
      </Filters>
      <QueryResult query={issues} lines={10}>
        {({ items, isCut }) =>
          items.length === 0 ? (
            <>
              {q ? (
                <Empty title="No issues match.">
                  Search by number, key, title or URL. If it is missing, check the refused deliveries below or open{" "}
                  <Link to="connections">Connections</Link>.
                </Empty>
              ) : (
                <Empty title="No issues yet.">
                  See <Link to="connections">Connections</Link> for the webhook URL to use in your tracker.
                </Empty>
              )}
              <Refused />
            </>
          ) : (
            <>
              {isCut && <p class="hint above">The issues of the latest {maxEvents} deliveries. To find others, search.</p>}
              {q !== "" && items.length === maxFound && (
                <p class="hint above">Only the {maxFound} newest matches are shown. Search for more words to find others.</p>
              )}
              <ul class="list">
                {items.map(({ subject, title, source, events, last_event_at }) => (
                  <li key={subject}>
                    <span class="main">
                      <SubjectLink subject={subject} title={title} /> <span class="soft together">on {source}</span>
                    </span>
                    <span class="side">{amountText(events, ["delivery", "deliveries"])}</span>
                    <span class="side at">
                      <Time at={last_event_at} />
                    </span>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </QueryResult>
    </Page>
  );
}

const dayMs = 86_400_000;
const maxShown = 5;

/** If an issue has no events, its webhooks are most likely refused. */
function Refused() {
  const refusals = useQuery("issues refused", (signal) => {
    const from = new Date(Date.now() - dayMs).toISOString();
    return list("webhook-events.list", { outcome: "refused", from, limit: maxShown }, signal);
  });
  if (!refusals.data?.items.length) return null;
  return (
    <Section
      title="Refused in the last day, possibly for this issue"
      aside={
        <Link to="deliveries" query={{ outcome: "refused" }}>
          All
        </Link>
      }
    >
      <DeliveryList events={refusals.data.items} />
    </Section>
  );
}
