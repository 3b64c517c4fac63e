import type { TaskExecution } from "../../../../schema/gen/client.ts";
import { Link } from "../route/link.tsx";
import { State } from "./badge.tsx";
import { Prose, waitSentence } from "./prose.tsx";
import { Subject, subjectLabel } from "./subject.tsx";
import { nameIn, Text } from "./text.tsx";
import { durationText, Time } from "./time.tsx";

interface RunListProps {
  readonly runs: readonly TaskExecution[];
  /** The page already names the issue. */
  readonly withoutSubject?: boolean;
}

/** Runs, one per line: task, agent, issue and error. */
export function RunList({ runs, withoutSubject = false }: RunListProps) {
  return (
    <ul class="list">
      {runs.map((run) => (
        <li key={run.id}>
          <State of="run" state={run.state} />
          <RunLine run={run} withoutSubject={withoutSubject} />
          <span class="side took">{run.duration_ms !== null && durationText(run.duration_ms)}</span>
          <span class="side at">
            <Time at={run.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function RunLine({ run, withoutSubject = false }: { run: TaskExecution; withoutSubject?: boolean }) {
  const why = run.error ?? run.held_reason ?? (run.waiting_for && waitSentence(run.waiting_for));
  return (
    <span class="main">
      <Link class="title" to={`run/${run.id}`} name={nameIn(run.task_id, subjectLabel(run.subject))}>
        <Text>{run.task_id}</Text>
      </Link>{" "}
      {!withoutSubject && (
        <>
          <span class="soft">for</span> <Subject subject={run.subject} title={run.subject_title} />
        </>
      )}{" "}
      {run.agent_id && <span class="soft together">by {run.agent_id}</span>}
      {why && (
        <span class={run.error && run.state === "failed" ? "why bad" : "why"}>
          <Prose text={why} max={240} />
        </span>
      )}
    </span>
  );
}
