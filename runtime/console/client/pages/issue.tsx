import type { SubjectTimeline } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { Prose } from "../parts/prose.tsx";
import { Subject, subjectLabel } from "../parts/subject.tsx";
import { plain } from "../parts/text.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";
import { DeliveryList } from "./deliveries.tsx";
import { Delivered } from "./issue-delivery.tsx";

/** Number of the newest deliveries that are shown. */
const maxShown = 100;

/** The three parts of `alpha:acme/webshop#42`. */
function partsOf(subject: string) {
  const [, source = "", project = "", issue = ""] = /^([\w-]+):(.+)#([^#]+)$/.exec(subject) ?? [];
  return { source, project, issue };
}

/** The history of one issue, oldest first: deliveries, outcomes, triggers, runs, comments. */
export function IssuePage() {
  const subject = query.value.get("subject") ?? "";
  const parts = partsOf(subject);
  const story = useQuery(parts.issue ? `issue ${subject}` : null, async (signal) => {
    const [timeline, answers] = await Promise.all([
      call("subjects.get", { ...parts, limit: maxShown }, signal),
      list("task-executions.list", { subject, limit: maxShown, fields: "result" }, signal),
    ]);
    return { timeline, answers: new Map(answers.items.map(({ id, result }) => [id, result ?? null])) };
  });
  const label = subjectLabel(subject);
  const title = story.data?.timeline.title;
  return (
    <Page
      title={parts.issue ? <Subject subject={subject} title={title} /> : "Issue"}
      name={plain(title ? `${title} · ${label}` : label)}
    >
      {parts.issue === "" ? (
        <Empty title="This address does not point to an issue.">
          <Link to="issues">Find an issue</Link>
        </Empty>
      ) : (
        <QueryResult query={story} lines={6}>
          {({ timeline, answers }) => (
            <>
              <p class="card verdict">
                <Prose text={timeline.verdict} />
              </p>
              <Story timeline={timeline} answers={answers} reload={story.reload} />
            </>
          )}
        </QueryResult>
      )}
    </Page>
  );
}

interface StoryProps {
  readonly timeline: SubjectTimeline;
  readonly answers: ReadonlyMap<string, string | null>;
  readonly reload: () => Promise<void>;
}

function Story({ timeline, answers, reload }: StoryProps) {
  const { subject, deliveries, more, refused } = timeline;
  return (
    <>
      {more && (
        <p class="hint lead">
          The latest {maxShown} deliveries.{" "}
          <Link to="deliveries" query={{ subject }}>
            See all
          </Link>
        </p>
      )}
      {deliveries.length === 0 && (
        <Empty title="No deliveries for this issue.">
          See <Link to="deliveries">Deliveries</Link> for what has arrived, and <Link to="connections">Connections</Link> for the
          webhook URL to use in your tracker.
        </Empty>
      )}
      <ol class="timeline">
        {deliveries.toReversed().map((delivery) => (
          <Delivered key={delivery.event.id} delivery={delivery} answers={answers} reload={reload} />
        ))}
      </ol>
      {refused.length > 0 && (
        <Section title="Refused in the last day, possibly for this issue">
          <DeliveryList events={refused} />
        </Section>
      )}
    </>
  );
}
