import { useState } from "preact/hooks";
import type { Integration } from "../../../../schema/gen/client.ts";
import { call, type OutputOf } from "../api/call.ts";
import { type Check, Health, webhookUrl } from "../parts/account-health.tsx";
import { Badge } from "../parts/badge.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { Copy, Text } from "../parts/text.tsx";

interface StoredAccountProps {
  readonly integration: Integration;
  readonly check: Check | undefined;
  readonly reload: () => Promise<void>;
}

export function StoredAccount({ integration, check, reload }: StoredAccountProps) {
  const { id, source, name, credentials, missing, agent_id, project_id } = integration;
  const label = `${name} on ${source}`;
  const [tested, setTested] = useState<OutputOf<"integrations.test-stored"> | null>(null);
  const remove = async () => {
    await call("integrations.delete", { id });
    await reload();
  };
  return (
    <li>
      <span class="main">
        <strong>
          <Text>{name}</Text>
        </strong>{" "}
        <span class="soft">
          {source}
          {agent_id && `, for ${agent_id}`}
          {project_id !== null && `, for project ${project_id}`}
        </span>
        <span class="why">
          Stored: {Object.keys(credentials).join(", ")}.{missing.length > 0 && ` Missing: ${missing.join(", ")}.`}
        </span>
        <span class="url">
          <code>{webhookUrl(id)}</code> <Copy text={webhookUrl(id)} label="Copy webhook URL" of={label} />
        </span>
        {!tested && <Health check={check} />}
        <span role="status" class="why">
          {tested && <Text max={400}>{`${tested.status === "ok" ? "Working" : "Not working"}: ${tested.message}`}</Text>}
        </span>
      </span>
      {missing.length > 0 && <Badge tone="wait">incomplete</Badge>}
      <ActionButton
        label="Test"
        of={label}
        needs="write"
        run={async () => setTested(await call("integrations.test-stored", { source: id }))}
      />
      <Rotation integration={integration} of={label} reload={reload} />
      <ActionButton
        label="Delete"
        of={label}
        kind="danger"
        needs="admin"
        confirm={
          <p>
            Deletes “<Text>{name}</Text>” and its credentials. Its webhook URL will return 404. This cannot be undone.
          </p>
        }
        run={remove}
      />
    </li>
  );
}

/** Replaces the webhook secret. The previous one is accepted until it is removed. */
function Rotation({ integration: { id, credentials }, of, reload }: Omit<StoredAccountProps, "check"> & { of: string }) {
  const [secret, setSecret] = useState<string | null>(null);
  const previous = Object.keys(credentials).find((name) => name.endsWith("_previous"));
  const rotate = async () => {
    setSecret((await call("integrations.rotate-secret", { id })).webhook_secret);
    await reload();
  };
  const drop = async () => {
    // If masked values are sent back, the stored values are kept.
    const others = Object.entries(credentials).filter(([name]) => name !== previous);
    await call("integrations.update", { id, credentials: Object.fromEntries(others) });
    setSecret(null);
    await reload();
  };
  return (
    <>
      <ActionButton
        label="Rotate secret"
        of={of}
        needs="admin"
        confirm={
          <p>
            Generates a new webhook secret and shows it once. The current secret is still accepted until you drop it.
            {previous && " The secret before that is no longer accepted."}
          </p>
        }
        run={rotate}
      />
      {previous && (
        <ActionButton
          label="Drop previous secret"
          of={of}
          needs="admin"
          confirm={<p>Webhooks still signed with it will be refused. Do this once the tracker uses the new secret.</p>}
          run={drop}
        />
      )}
      {secret && (
        <div class="card new-key wide" role="status">
          <p>The new webhook secret is shown only once. Enter it in the tracker:</p>
          <code>{secret}</code> <Copy text={secret} />
        </div>
      )}
    </>
  );
}
