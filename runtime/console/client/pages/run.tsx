import type { TaskExecutionWithTranscript } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { runSentence } from "../part-words.ts";
import { State } from "../parts/badge.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { NextStep, Page, QueryResult, Section } from "../parts/page.tsx";
import { Prose, waitSentence } from "../parts/prose.tsx";
import { SubjectLink } from "../parts/subject.tsx";
import { plain, Text } from "../parts/text.tsx";
import { countText, dollarText, durationText, Since, Time } from "../parts/time.tsx";
import { Waterfall } from "../parts/waterfall.tsx";
import { failureOf } from "../remedies.ts";
import { External, Link } from "../route/link.tsx";
import { runs } from "../words.ts";
import { DryReplay } from "./dry-replay.tsx";
import { Proposals } from "./proposals.tsx";
import { RunActions } from "./run-actions.tsx";

export function RunPage({ id }: { id: string }) {
  const query = useQuery(`run ${id}`, (signal) => call("task-executions.get", { id }, signal));
  const run = query.data;
  return (
    <Page
      title={run ? <RunTitle run={run} /> : "Run"}
      name={run ? plain([run.task_id, run.subject_title].filter(Boolean).join(" · ")) : "Run"}
      actions={
        run && (
          <>
            <Link to={`compare/${id}`}>Compare</Link>
            <RunActions run={run} reload={query.reload} />
          </>
        )
      }
    >
      <QueryResult query={query} lines={8}>
        {(data) => (
          <>
            <Verdict run={data} />
            {data.state === "waiting" && <Proposals run={data} reload={query.reload} />}
            <Numbers run={data} />
            {data.state !== "waiting" && <Proposals run={data} reload={query.reload} />}
            <Answer run={data} />
            <Section title="Steps">
              <Memories keys={data.memories} />
              <Waterfall steps={data.transcript} state={data.state} />
            </Section>
            <DryReplay run={data} />
            <Attempts history={data.history} />
            <Facts run={data} />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

const RunTitle = ({ run }: { run: TaskExecutionWithTranscript }) => (
  <>
    <Text>{run.task_id}</Text>{" "}
    {run.subject && (
      <span class="soft">
        for <SubjectLink subject={run.subject} title={run.subject_title} />
      </span>
    )}
  </>
);

/** The memories in the prompt. */
function Memories({ keys }: { keys: readonly string[] }) {
  if (keys.length === 0) return null;
  return (
    <p class="hint above">
      Memories in the prompt:{" "}
      {keys.map((key, n) => (
        <span key={key}>
          {n > 0 && ", "}
          <Link to="memory" query={{ key }}>
            <Text max={100}>{key}</Text>
          </Link>
        </span>
      ))}
    </p>
  );
}

function Verdict({ run }: { run: TaskExecutionWithTranscript }) {
  const { next } = runs[run.state];
  const wait = run.waiting_for && !run.held_reason && waitSentence(run.waiting_for);
  const why = run.error ?? run.held_reason ?? run.reason;
  const remedy = run.state === "failed" ? failureOf(run.error) : null;
  return (
    <div class="card verdict">
      <p>
        <span role="status">
          <State of="run" state={run.state} /> {run.dry_run && <State of="step" state="dry_run" />} {!wait && runSentence(run)}
        </span>{" "}
        {wait && <Prose text={wait} />}{" "}
        {run.held_until && (
          <span class="soft">
            It will be queued again <Time at={run.held_until} />.
          </span>
        )}
      </p>
      {why && (
        <p class={run.state === "failed" ? "refused" : ""}>
          <Prose text={why} max={2_000} />
        </p>
      )}
      <NextStep next={remedy ? `${remedy.sentence} ${remedy.next}` : next} remedy={remedy} />
    </div>
  );
}

function Numbers({ run }: { run: TaskExecutionWithTranscript }) {
  const costs = run.transcript.flatMap(({ cost_usd }) => (cost_usd === null ? [] : [cost_usd]));
  const cost = costs.length > 0 ? costs.reduce((sum, one) => sum + one, 0) : null;
  return (
    <div class="numbers">
      <div>
        <strong>
          {run.state === "running" && run.started_at ? <Since at={run.started_at} /> : durationText(run.duration_ms)}
        </strong>
        <span>{run.state === "running" ? "so far" : "duration"}</span>
      </div>
      <div>
        <strong>{countText(run.prompt_tokens + run.completion_tokens)}</strong>
        <span>
          tokens, {countText(run.prompt_tokens)} in, {countText(run.completion_tokens)} out
        </span>
      </div>
      <div>
        <strong>{dollarText(cost)}</strong>
        <span>{cost === null && run.prompt_tokens > 0 ? "cost (price unknown)" : "cost"}</span>
      </div>
      <div>
        <strong>{run.tool_calls}</strong>
        <span>{run.tool_calls === 1 ? "tool call" : "tool calls"}</span>
      </div>
      <div>
        <strong>{run.attempts}</strong>
        <span>{run.attempts === 1 ? "attempt" : "attempts"}</span>
      </div>
    </div>
  );
}

function Answer({ run }: { run: TaskExecutionWithTranscript }) {
  // A proposed comment says the same.
  if (!run.result || (run.state === "waiting" && run.proposals.some(({ kind }) => kind === "comment"))) return null;
  const aside = run.result_url && <External url={run.result_url}>Open the comment</External>;
  return (
    <Section title="Answer" aside={aside}>
      <div class="card">
        <Markdown text={run.result} label="Answer" />
      </div>
    </Section>
  );
}

function Attempts({ history }: Pick<TaskExecutionWithTranscript, "history">) {
  if (history.length === 0) return null;
  return (
    <Section title="Earlier attempts">
      <ul class="list">
        {history.map(({ attempt, event, detail, at }, index) => (
          <li key={index}>
            <span class="side">attempt {attempt}</span>
            <span class="main">
              {event}
              {detail && (
                <span class="why">
                  <Text max={600}>{detail}</Text>
                </span>
              )}
            </span>
            <span class="side">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Facts({ run }: { run: TaskExecutionWithTranscript }) {
  return (
    <Section title="Where it came from">
      <dl class="facts">
        <dt>Issue</dt>
        <dd>
          <SubjectLink subject={run.subject} />
        </dd>
        <dt>Trigger</dt>
        <dd>
          <code>{run.canonical_trigger}</code>
        </dd>
        <dt>Delivery</dt>
        <dd>{run.event_id ? <Link to={`delivery/${run.event_id}`}>Open the delivery</Link> : <span class="soft">none</span>}</dd>
        <dt>Agent</dt>
        <dd>
          {run.agent_id ? <Link to={`agent/${run.agent_id}`}>{run.agent_id}</Link> : <span class="soft">not assigned yet</span>}
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={run.created_at} />
        </dd>
        <dt>Run id</dt>
        <dd>
          <code>{run.id}</code>
        </dd>
      </dl>
    </Section>
  );
}
