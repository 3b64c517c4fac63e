import { useState } from "preact/hooks";
import type { Agent, TaskExecution } from "../../../../schema/gen/client.ts";
import { CallError, call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { State } from "../parts/badge.tsx";
import { Field, Form, textOf } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";
import { Link } from "../route/link.tsx";

/** Number of issues on which a prompt is tried. */
const maxIssues = 3;

interface Trial {
  readonly before: TaskExecution;
  /** Id of the dry run. */
  readonly trialId: string;
}

/** The latest run on each of the last issues whose webhooks are stored. */
function latestOfIssues(runs: readonly TaskExecution[]): TaskExecution[] {
  const latest = new Map<string, TaskExecution>();
  for (const run of runs) {
    const isKept = run.event_id !== null && run.transcript_removed_at === null && !run.dry_run;
    if (isKept && run.subject !== null && !latest.has(run.subject)) latest.set(run.subject, run);
  }
  return [...latest.values()].slice(0, maxIssues);
}

/**
 * Runs the agent with a changed prompt on its latest issues as dry runs, and links to a comparison of the answers. Writes
 * nothing.
 */
export function AgentTrial({ agent: { id, prompt } }: { agent: Agent }) {
  const [trials, setTrials] = useState<readonly Trial[]>([]);
  const start = async (values: FormData) => {
    const earlierRuns = latestOfIssues(
      (await list("task-executions.list", { agent_id: id, state: "succeeded", limit: 100 })).items,
    );
    if (earlierRuns.length === 0)
      throw new CallError(404, "This agent has not answered an issue yet, or the webhooks for its issues are no longer stored.");
    const options = { dry_run: true, agent_id: id, prompt: textOf(values, "trial") };
    const outcomes = await Promise.allSettled(
      earlierRuns.map(async (before): Promise<Trial[]> => {
        const { event_id, task_id } = before;
        const receipt = await call("webhook-events.replay", { ...options, id: event_id ?? "", task_id });
        return (receipt.executions ?? []).map((one) => ({ before, trialId: one.id }));
      }),
    );
    setTrials(outcomes.flatMap((one) => (one.status === "fulfilled" ? one.value : [])));
    const [firstError] = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    if (firstError) throw firstError;
  };
  return (
    <Section title="Try a prompt on recent issues">
      <details class="card">
        <summary>Rerun the last {maxIssues} issues as dry runs</summary>
        <p class="soft">
          The agent does not change. The model and tools really run, at their usual cost, but nothing is written to the tracker.
        </p>
        <Form label="Run as dry runs" run={start} done="" needs="write">
          <Field name="trial" label="Prompt to try" value={prompt} lines={8} required />
        </Form>
      </details>
      {trials.length > 0 && (
        <ul class="list">
          {trials.map((trial) => (
            <Result key={trial.trialId} trial={trial} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function Result({ trial: { before, trialId } }: { trial: Trial }) {
  const { data } = useQuery(`trial ${trialId}`, (signal) => call("task-executions.get", { id: trialId }, signal));
  return (
    <li>
      {data && <State of="run" state={data.state} />}
      <span class="main">
        <Link to={`compare/${before.id}`} query={{ with: trialId }}>
          <Text>{`${before.task_id} for ${before.subject}: compare answers`}</Text>
        </Link>
        <span class="why">
          <Text max={300}>{data?.result ?? data?.error ?? "The run has not finished."}</Text>
        </span>
      </span>
    </li>
  );
}
