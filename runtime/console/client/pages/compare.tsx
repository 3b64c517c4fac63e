import type { TaskExecutionWithTranscript } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { Prose } from "../parts/prose.tsx";
import { RunList } from "../parts/run-list.tsx";
import { SubjectLink } from "../parts/subject.tsx";
import { asText, Block, Text } from "../parts/text.tsx";
import { countText, durationText, Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query, setQuery } from "../route/location.ts";

/** A run next to another one of the same task and issue: the input of the model, and its answer. */
export function ComparePage({ id }: { id: string }) {
  const otherId = query.value.get("with");
  const firstRun = useQuery(`run ${id}`, (signal) => call("task-executions.get", { id }, signal));
  const secondRun = useQuery(otherId ? `run ${otherId}` : null, (signal) =>
    call("task-executions.get", { id: otherId ?? "" }, signal),
  );
  return (
    <Page title="Compare runs">
      {firstRun.data && (
        <p class="lead">
          <Text>{firstRun.data.task_id}</Text> <span class="soft">for</span>{" "}
          <SubjectLink subject={firstRun.data.subject} title={firstRun.data.subject_title} />
        </p>
      )}
      {otherId ? (
        <>
          <p class="lead">
            <button type="button" onClick={() => setQuery({ with: null })}>
              Choose another run
            </button>
          </p>
          <div class="side-by-side">
            <QueryResult query={firstRun}>{(run) => <Side run={run} />}</QueryResult>
            <QueryResult query={secondRun}>{(run) => <Side run={run} />}</QueryResult>
          </div>
        </>
      ) : (
        <QueryResult query={firstRun}>{(run) => <Others run={run} />}</QueryResult>
      )}
    </Page>
  );
}

function Others({ run }: { run: TaskExecutionWithTranscript }) {
  const { id, task_id, subject } = run;
  const runs = useQuery(`others ${id}`, async (signal) => {
    const page = await list("task-executions.list", { task_id, ...(subject && { subject }), limit: 50 }, signal);
    return page.items.filter((one) => one.id !== id);
  });
  return (
    <Section title="Choose a run to compare">
      <QueryResult query={runs}>
        {(items) =>
          items.length === 0 ? (
            <Empty title="This task has run only once for this issue.">
              <Link to={`run/${id}`} query={{ try: 1 }}>
                Run it again as a dry run
              </Link>{" "}
              with another prompt or agent. Both answers then appear here.
            </Empty>
          ) : (
            <ul class="list">
              {items.map((one) => (
                <li key={one.id}>
                  <State of="run" state={one.state} />
                  <span class="main">
                    <Link class="title" to={`compare/${id}`} query={{ with: one.id }}>
                      {one.task_id}
                    </Link>
                  </span>
                  <span class="side">
                    <Time at={one.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryResult>
      <h3 class="lead">This run</h3>
      <RunList runs={[run]} />
    </Section>
  );
}

function Side({ run }: { run: TaskExecutionWithTranscript }) {
  const plan = (run.transcript.find(({ kind }) => kind === "prompt")?.input ?? {}) as {
    model?: string;
    messages?: { role: string; content: unknown }[];
  };
  return (
    <section class="card compared">
      <p>
        <State of="run" state={run.state} /> {run.dry_run && <State of="step" state="dry_run" />}{" "}
        <Link to={`run/${run.id}`}>
          Run from <Time at={run.created_at} />
        </Link>
      </p>
      <p class="soft small-text">
        {run.agent_id ?? "no agent"}, {plan.model ?? "no model"}, {countText(run.prompt_tokens + run.completion_tokens)} tokens,{" "}
        {durationText(run.duration_ms)}
      </p>
      {run.result ? (
        <Markdown text={run.result} label="Answer" />
      ) : (
        <p class="soft">
          <Prose text={run.error ?? (run.finished_at ? "No answer." : "No answer yet.")} />
        </p>
      )}
      <details>
        <summary>What the model saw</summary>
        {(plan.messages ?? []).map(({ role, content }, index) => (
          <Block key={index} text={asText(content)} label={`${role} message`} />
        ))}
      </details>
    </section>
  );
}
