import type { TaskExecutionWithTranscript } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Field, Form, SelectField, textOf } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";
import { navigate, pageUrl, query } from "../route/location.ts";

/** Runs the task of a run again on the same event, with another agent or prompt, and shows both answers. Writes nothing. */
export function DryReplay({ run }: { run: TaskExecutionWithTranscript }) {
  const { event_id, task_id, agent_id } = run;
  const agents = useQuery("agents of dry runs", (signal) => list("agents.list", { limit: 1000 }, signal), { live: false });
  const agent = agents.data?.items.find(({ id }) => id === agent_id);
  if (event_id === null || !agents.data) return null;
  const start = async (values: FormData) => {
    const agent = textOf(values, "agent_id");
    const prompt = textOf(values, "prompt");
    const receipt = await call("webhook-events.replay", {
      id: event_id,
      dry_run: true,
      task_id,
      ...(agent && { agent_id: agent }),
      ...(prompt && { prompt }),
    });
    const executionId = receipt.executions?.[0]?.id;
    if (executionId) navigate(pageUrl(`compare/${run.id}`, { with: executionId }));
  };
  return (
    <Section title="Try it another way">
      <details class="card" open={query.value.has("try")}>
        <summary>Rerun as a dry run with another prompt or agent</summary>
        <p class="soft">
          The agent does not change. The model and tools really run, at their usual cost, but nothing is written to the tracker.
          Both answers are shown side by side.
        </p>
        <Form label="Run as a dry run" run={start} done="" needs="write">
          <SelectField
            name="agent_id"
            label="Agent"
            value={agent_id}
            options={agents.data.items.map(({ id, name }) => [id, name])}
          />
          <Field name="prompt" label="Prompt" value={agent?.prompt} lines={8} />
        </Form>
      </details>
    </Section>
  );
}
