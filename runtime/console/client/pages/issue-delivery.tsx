import type { SubjectDelivery, SubjectExecution } from "../../../../schema/gen/client.ts";
import { State } from "../parts/badge.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { NextStep } from "../parts/page.tsx";
import { Prose } from "../parts/prose.tsx";
import { nameIn, Text } from "../parts/text.tsx";
import { durationText, momentText, Time } from "../parts/time.tsx";
import { failureOf, remedyOf } from "../remedies.ts";
import { External, Link } from "../route/link.tsx";
import { deliveries, runs } from "../words.ts";
import { eventLabel } from "./deliveries.tsx";
import { RunActions } from "./run-actions.tsx";

interface DeliveredProps {
  readonly delivery: SubjectDelivery;
  /** Answers of runs by the id of the run. */
  readonly answers: ReadonlyMap<string, string | null>;
  readonly reload: () => Promise<void>;
}

/** One delivery, its outcome, and the runs that it started. */
export function Delivered({ delivery: { event, verdict, executions }, answers, reload }: DeliveredProps) {
  const remedy = event.outcome === "dispatched" ? null : remedyOf(event.reason);
  return (
    <>
      <li class={deliveries[event.outcome].tone}>
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
        <p class="soft">
          <Prose text={verdict} />
        </p>
        {remedy && <NextStep next={remedy.next} remedy={remedy} />}
      </li>
      {executions.map((run) => (
        <Ran key={run.id} run={run} answer={answers.get(run.id) ?? null} reload={reload} />
      ))}
    </>
  );
}

interface RanProps {
  readonly run: SubjectExecution;
  readonly answer: string | null;
  readonly reload: () => Promise<void>;
}

function Ran({ run, answer, reload }: RanProps) {
  const { tone, next } = runs[run.state];
  const remedy = run.state === "failed" ? failureOf(run.error) : null;
  const name = `${run.task_id}, ${momentText(run.created_at)}`;
  return (
    <li class={tone}>
      <div class="node-head">
        <strong>
          <Link to={`run/${run.id}`}>
            <Text>{run.task_id}</Text>
          </Link>
        </strong>
        <State of="run" state={run.state} />
        {run.agent_id && <span class="soft">by {run.agent_id}</span>}
        <span class="soft small-text">{run.duration_ms !== null && `took ${durationText(run.duration_ms)}`}</span>
      </div>
      <div class="node-body">
        {run.state !== "succeeded" && (
          <p class={run.state === "failed" ? "refused" : "soft"}>
            <Prose text={run.verdict} />
          </p>
        )}
        {run.state !== "succeeded" && <NextStep next={remedy ? `${remedy.sentence} ${remedy.next}` : next} remedy={remedy} />}
        <div class="buttons">
          <RunActions run={run} of={name} reload={reload} />
        </div>
        {answer && (
          <div class="card">
            <Markdown text={answer} label="Answer" />
            {run.result_url && (
              <p class="card-foot">
                <External url={run.result_url} name={nameIn("Open the comment", name)}>
                  Open the comment
                </External>
              </p>
            )}
          </div>
        )}
      </div>
    </li>
  );
}
