import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { Filters, Word } from "../parts/filters.tsx";
import { Empty, Page, Shown } from "../parts/page.tsx";
import { SubjectLink } from "../parts/subject.tsx";
import { Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";

/** Issues that something happened to lately, or that match the search. */
export function IssuesPage() {
  const q = query.value.get("q") ?? "";
  const events = useQuery(`issues ${q}`, (signal) =>
    list("webhook-events.list", { limit: 200, ...(q && { subject: q }) }, signal),
  );
  return (
    <Page title="Issues">
      <Filters>
        <Word name="q" label="Find an issue" placeholder="acme/webshop#42, CONF-7, a URL" />
      </Filters>
      <Shown query={events} lines={10}>
        {({ items }) => {
          const all = Map.groupBy(
            items.filter(({ subject }) => subject !== null),
            ({ subject }) => subject ?? "",
          );
          return all.size === 0 ? (
            <Empty title={q ? "No issue matches." : "No issue has had an event yet."}>
              <Link to="connections">Connections</Link> has the address that each tracker must send its webhooks to.
            </Empty>
          ) : (
            <ul class="list">
              {[...all].map(([subject, [latest, ...more]]) => (
                <li key={subject}>
                  {latest && <State state={latest.outcome} />}
                  <span class="main">
                    <SubjectLink subject={subject} /> <span class="soft">{latest?.source}</span>
                  </span>
                  <span class="side">{more.length === 0 ? "1 delivery" : `${more.length + 1} deliveries`}</span>
                  <span class="side">{latest && <Time at={latest.received_at} />}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Shown>
    </Page>
  );
}
