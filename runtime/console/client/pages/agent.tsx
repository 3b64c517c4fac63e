import type { Agent } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Field, Form, linesOf, SelectField, textOf } from "../parts/form.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { PolicyTable } from "../parts/policy-table.tsx";
import { RunList } from "../parts/run-list.tsx";
import { Text } from "../parts/text.tsx";
import { countText, dollarText, durationText } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { navigate, pageUrl } from "../route/location.ts";
import { AgentTrial } from "./agent-trial.tsx";
import { roles } from "./agents.tsx";

export function AgentPage({ id }: { id: string }) {
  // Not live, because a reload must not replace the text that the user is editing.
  const agent = useQuery(`agent ${id}`, (signal) => call("agents.get", { id }, signal), { live: false });
  return (
    <Page title={agent.data ? <Text>{agent.data.name}</Text> : "Agent"} name={id} actions={agent.data && <Remove id={id} />}>
      <QueryResult query={agent} lines={8}>
        {(data) => (
          <>
            <Statistics id={id} />
            <Section title="Identity">
              <Persona agent={data} reload={agent.reload} />
            </Section>
            <Section title="What it can do">
              <PolicyTable agentId={id} own={data.policy} reload={agent.reload} />
            </Section>
            <AgentTrial agent={data} />
            <LatestRuns id={id} />
          </>
        )}
      </QueryResult>
    </Page>
  );
}

const daysShown = 30;

function Statistics({ id }: { id: string }) {
  const { data } = useQuery("usage by agent", (signal) => {
    const from = new Date(Math.floor(Date.now() / 86_400_000 - daysShown + 1) * 86_400_000).toISOString();
    return call("usage.get", { from, group_by: "agent" }, signal);
  });
  const usage = data?.groups?.find(({ agent_id }) => agent_id === id);
  return (
    <div class="numbers">
      {[
        [countText(usage?.runs ?? 0), `runs in ${daysShown} days`],
        [countText(usage?.failed ?? 0), "failed"],
        [countText(usage?.tokens.total ?? 0), "tokens"],
        [dollarText(usage?.cost_usd), "cost"],
        [durationText(usage?.p50_duration_ms ?? null), "median duration"],
      ].map(([value, label]) => (
        <div key={label}>
          <strong>{data ? value : "–"}</strong>
          <span>{label}</span>
        </div>
      ))}
    </div>
  );
}

function Persona({ agent, reload }: { agent: Agent; reload: () => Promise<void> }) {
  const save = async (values: FormData) => {
    const temperature = textOf(values, "temperature");
    const tools = linesOf(values, "allowed_tools");
    await call("agents.update", {
      id: agent.id,
      name: textOf(values, "name"),
      role_id: textOf(values, "role_id") as Agent["role_id"],
      description: textOf(values, "description") || null,
      prompt: textOf(values, "prompt"),
      responsibilities: linesOf(values, "responsibilities"),
      constraints: linesOf(values, "constraints"),
      communication_style: textOf(values, "communication_style") || null,
      model: textOf(values, "model") || null,
      temperature: temperature === "" ? null : Number(temperature),
      allowed_tools: tools.length === 0 ? null : tools,
    });
    await reload();
  };
  return (
    <Form label="Save" run={save} needs="write">
      <Field name="name" label="Name" value={agent.name} required />
      <SelectField name="role_id" label="Role" value={agent.role_id} options={roles} />
      <Field name="description" label="Description" value={agent.description} />
      <Field
        name="prompt"
        label="Prompt"
        value={agent.prompt}
        lines={10}
        required
        hint="Runs that have started keep the old prompt."
      />
      <Field name="responsibilities" label="Responsibilities, one per line" value={agent.responsibilities.join("\n")} lines={4} />
      <Field name="constraints" label="Hard rules, one per line" value={agent.constraints.join("\n")} lines={4} />
      <Field name="communication_style" label="Communication style" value={agent.communication_style} lines={2} />
      <Field name="model" label="Model" value={agent.model} placeholder="default model" />
      <Field name="temperature" label="Temperature" value={agent.temperature} type="number" placeholder="model default" />
      <Field
        name="allowed_tools"
        label="Tools it can call, one per line"
        value={agent.allowed_tools?.join("\n")}
        lines={3}
        placeholder="alpha.add_comment, alpha.*"
        hint="If empty: the tools of the event's source and of every provider that is not a source."
      />
    </Form>
  );
}

function LatestRuns({ id }: { id: string }) {
  const runs = useQuery(`agent runs ${id}`, (signal) => list("task-executions.list", { agent_id: id, limit: 10 }, signal));
  return (
    <Section title="Latest runs">
      <QueryResult query={runs}>
        {({ items }) =>
          items.length > 0 ? (
            <RunList runs={items} />
          ) : (
            <Empty title="This agent has not run yet.">
              A run starts when a trigger fires one of this agent's tasks. See <Link to="routing">Routing</Link>.
            </Empty>
          )
        }
      </QueryResult>
    </Section>
  );
}

function Remove({ id }: { id: string }) {
  return (
    <ActionButton
      label="Delete agent"
      kind="danger"
      needs="write"
      confirm={
        <p>
          Its tasks remain and use their fallback prompts. Tasks without one will fail. The agent and its prompt cannot be
          restored.
        </p>
      }
      run={async () => {
        await call("agents.delete", { id });
        navigate(pageUrl("agents"));
      }}
    />
  );
}
