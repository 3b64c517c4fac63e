import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Field, Form, SelectField, textOf } from "../parts/form.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { Text } from "../parts/text.tsx";
import { Link } from "../route/link.tsx";
import { navigate, pageUrl } from "../route/location.ts";
import { SeedAgents } from "./seed.tsx";

export const roles = [
  ["pm", "Requirements"],
  ["ta", "Architecture"],
  ["qa", "Testing"],
  ["dev", "Implementation"],
  ["hub", "Orchestration"],
] as const;
type Role = (typeof roles)[number][0];

const defaults = ["pm_default", "ta_default", "qa_default", "dev_default", "hub_system"];

/** Whether some agents exist, but not all of the default ones. */
const isWithoutDefaults = (agents: readonly { readonly id: string }[] | undefined): boolean =>
  agents !== undefined && agents.length > 0 && defaults.some((id) => agents.every((one) => one.id !== id));

export function AgentsPage() {
  const agents = useQuery("agents", (signal) => list("agents.list", { limit: 1000 }, signal));
  return (
    <Page title="Agents" actions={isWithoutDefaults(agents.data?.items) && <SeedAgents reload={agents.reload} />}>
      <QueryResult query={agents} lines={5}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No agents yet.">
              <p>The default agents cover requirements, architecture, testing, implementation and orchestration.</p>
              <SeedAgents reload={agents.reload} />
            </Empty>
          ) : (
            <ul class="list">
              {items.map((agent) => (
                <li key={agent.id}>
                  <span class="main">
                    <Link class="title" to={`agent/${agent.id}`}>
                      <Text>{agent.name}</Text>
                    </Link>{" "}
                    <span class="soft">{agent.id}</span>
                    {agent.description && (
                      <span class="why">
                        <Text>{agent.description}</Text>
                      </span>
                    )}
                  </span>
                  <span class="side">{roles.find(([id]) => id === agent.role_id)?.[1]}</span>
                  <span class="side">{agent.model ?? "default model"}</span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryResult>
      <NewAgent />
    </Page>
  );
}

function NewAgent() {
  const create = async (values: FormData) => {
    const id = textOf(values, "id");
    const role_id = textOf(values, "role_id") as Role;
    await call("agents.create", { id, name: textOf(values, "name"), role_id, prompt: textOf(values, "prompt") });
    navigate(pageUrl(`agent/${id}`));
  };
  return (
    <Section title="New agent">
      <Form label="Create agent" run={create} done="Created" needs="write">
        <Field
          name="id"
          label="Id"
          required
          placeholder="release_notes"
          hint="Lowercase letters, digits and _, starting with a letter. Cannot be changed later."
        />
        <Field name="name" label="Name" required />
        <SelectField name="role_id" label="Role" options={roles} />
        <Field name="prompt" label="Prompt" required lines={5} />
      </Form>
    </Section>
  );
}
