import type { Plugin } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Field, Form, textOf } from "../parts/form.tsx";
import { QueryResult } from "../parts/page.tsx";
import { asText, Block, Text } from "../parts/text.tsx";

interface DetailProps {
  readonly plugin: Plugin;
  readonly reload: () => Promise<void>;
}

export function PluginDetail({ plugin, reload }: DetailProps) {
  return (
    <div class="node-body">
      <Permissions plugin={plugin} />
      <Actions plugin={plugin} reload={reload} />
      {plugin.settings.length > 0 && <Settings plugin={plugin} reload={reload} />}
      <Log id={plugin.id} />
    </div>
  );
}

function Permissions({ plugin: { permissions, needs, tools, sources } }: { plugin: Plugin }) {
  const lines: readonly (readonly [string, string])[] = [
    ...permissions.http.map(({ host, methods, why }) => [`Calls ${host} (${methods.join(", ")})`, why] as const),
    ...permissions.operations.map(({ id, why }) => [`Uses ${id}`, why] as const),
    ...permissions.open_routes.map(({ name, why }) => [`Serves ${name} to anyone`, why] as const),
  ];
  return (
    <div>
      <h3>What it can do</h3>
      {lines.length === 0 && <p class="soft">Nothing outside its own process.</p>}
      <ul class="plain">
        {lines.map(([what, why]) => (
          <li key={what}>
            <Text>{what}</Text>{" "}
            <span class="soft">
              <Text max={300}>{why}</Text>
            </span>
          </li>
        ))}
      </ul>
      <p class="soft small-text">
        Receives {needs.join(", ") || "nothing"}. Tools: {tools.join(", ") || "none"}. Sources: {sources.join(", ") || "none"}.
      </p>
    </div>
  );
}

function Actions({ plugin: { id, state, waiting, version }, reload }: DetailProps) {
  const then = (action: () => Promise<unknown>) => async () => {
    await action();
    await reload();
  };
  const newVersion = waiting?.version;
  return (
    <div class="buttons">
      {waiting && (
        <ActionButton
          label={`Approve ${newVersion}`}
          kind="primary"
          needs="admin"
          confirm={
            <>
              <p>
                {version === null
                  ? "The plugin starts."
                  : `${newVersion} replaces ${version}. To go back, approve ${version} again.`}
              </p>
              <Changes title="New permissions:" lines={waiting.widens} none="It requests no new permissions." />
              <Changes title="Breaking changes:" lines={waiting.breaks} none="" />
            </>
          }
          run={then(() => call("plugins.approve", { id, version: newVersion }))}
        />
      )}
      {state === "approved" || state === "quarantined" || state === "stopped" ? (
        <ActionButton label="Enable" needs="admin" run={then(() => call("plugins.enable", { id }))} />
      ) : (
        version !== null && (
          <ActionButton
            label="Disable"
            needs="admin"
            confirm={<p>Its process stops and its tools are no longer offered. Its webhooks wait until you enable it again.</p>}
            run={then(() => call("plugins.disable", { id }))}
          />
        )
      )}
    </div>
  );
}

function Changes({ title, lines, none }: { title: string; lines: readonly string[]; none: string }) {
  if (lines.length === 0) return none ? <p class="soft">{none}</p> : null;
  return (
    <div>
      <p>{title}</p>
      <ul class="plain">
        {lines.map((line) => (
          <li key={line}>
            <Text max={300}>{line}</Text>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Settings({ plugin: { id, settings }, reload }: DetailProps) {
  const save = async (values: FormData) => {
    const newValues = settings.flatMap(({ name }) => (textOf(values, name) === "" ? [] : [[name, textOf(values, name)]]));
    await call("plugins.configure", { id, settings: Object.fromEntries(newValues) as Record<string, string> });
    await reload();
  };
  return (
    <Form label="Save settings" run={save} needs="admin">
      {settings.map(({ name, title, secret, set }) => (
        <Field
          key={name}
          name={name}
          label={title ?? name}
          {...(secret && { type: "password" })}
          placeholder={set ? "set (leave empty to keep)" : "not set"}
        />
      ))}
    </Form>
  );
}

function Log({ id }: { id: string }) {
  const log = useQuery(`plugin log ${id}`, (signal) => call("plugins.logs", { id }, signal));
  return (
    <details>
      <summary>Log</summary>
      <QueryResult query={log}>{(data) => <Block text={asText(data)} label="Plugin log" />}</QueryResult>
    </details>
  );
}
