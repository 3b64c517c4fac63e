import { useState } from "preact/hooks";
import { call } from "../api/call.ts";
import { rights } from "../api/session.ts";
import { Field, Form, projectIdHint, SelectField, textOf } from "../parts/form.tsx";
import { Section } from "../parts/page.tsx";

/** The settings that each platform requires, in addition to its webhook secret. */
const settings: Readonly<Record<string, readonly (readonly [name: string, label: string, secret: boolean])[]>> = {
  alpha: [
    ["token", "Token with write permission on issues", true],
    ["api_url", "Base URL of the API, if it is not github.com", false],
  ],
  beta: [
    ["token", "Token with the api scope", true],
    ["url", "Base URL, if it is not gitlab.com", false],
  ],
  gamma: [
    ["url", "Jira base URL", false],
    ["email", "Account email address", false],
    ["api_token", "API token", true],
  ],
  delta: [
    ["api_key", "API key", true],
    ["workspace_slug", "Workspace slug", false],
    ["api_url", "Base URL of the API, if it is not plane.so", false],
  ],
};
const names = [
  ["alpha", "GitHub (alpha)"],
  ["beta", "GitLab (beta)"],
  ["gamma", "Jira (gamma)"],
  ["delta", "Plane (delta)"],
] as const;

export function NewAccount({ reload }: { reload: () => Promise<void> }) {
  const [source, setSource] = useState<string>("alpha");
  const fields = settings[source] ?? [];
  const create = async (values: FormData) => {
    const credentials = [...fields.map(([name]) => name), "webhook_secret"].flatMap((name) => {
      const value = textOf(values, name);
      return value === "" ? [] : [[name, value]];
    });
    const project = textOf(values, "project_id");
    await call("integrations.create", {
      source,
      name: textOf(values, "name"),
      credentials: Object.fromEntries(credentials) as Record<string, string>,
      ...(textOf(values, "agent_id") && { agent_id: textOf(values, "agent_id") }),
      ...(project && { project_id: Number(project) }),
    });
    await reload();
  };
  return (
    <Section title="Add an account">
      <p class="hint lead">
        Credentials are stored encrypted and never shown again. The account gets its own webhook URL. This requires{" "}
        <code>ENCRYPTION_KEY</code>, for example the output of <code>openssl rand -hex 32</code>
        {rights.value.admin ? "." : ", and an API key with the admin scope."}
      </p>
      <Form label="Add account" run={create} done="Added" needs="admin">
        <SelectField name="source" label="Platform" value={source} options={names} onChange={setSource} />
        <Field name="name" label="Name" required placeholder="Web team bot" />
        {fields.map(([name, label, secret]) => (
          <Field key={`${source} ${name}`} name={name} label={label} {...(secret && { type: "password" })} />
        ))}
        <Field
          name="webhook_secret"
          label="Webhook secret"
          type="password"
          hint="A long random string. Use the same one in the tracker."
        />
        <Field name="agent_id" label="Limit to agent" placeholder="all agents" />
        <Field name="project_id" label="Limit to project" type="number" placeholder="all projects" hint={projectIdHint} />
      </Form>
    </Section>
  );
}
