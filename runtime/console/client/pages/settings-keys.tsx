import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ApiKey } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { logIn, type Scope, session } from "../api/session.ts";
import { Badge } from "../parts/badge.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { Field, Form, SelectField, textOf } from "../parts/form.tsx";
import { Empty, QueryResult, Section } from "../parts/page.tsx";
import { Copy, Text } from "../parts/text.tsx";
import { isPast, Time } from "../parts/time.tsx";

export function KeySettings() {
  const keys = useQuery("keys", (signal) => list("keys.list", { limit: 1000 }, signal));
  return (
    <>
      <NewKey reload={keys.reload} />
      <Section title="Keys">
        <QueryResult query={keys}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No keys in the database.">
                {session.value?.state === "open"
                  ? "Anyone who can reach the service has full access."
                  : "The keys in API_KEYS are in use."}
              </Empty>
            ) : (
              <ul class="list">
                {items.map((key) => (
                  <li key={key.id}>
                    <span class="main">
                      <strong>
                        <Text>{key.name}</Text>
                      </strong>{" "}
                      <code>{key.hint}</code> <span class="soft">{key.scopes.join(", ")}</span>
                      <Limits of={key} />
                    </span>
                    {key.expires_at && !key.revoked_at && <Expiry at={key.expires_at} />}
                    <span class="side">
                      {key.last_used_at ? (
                        <>
                          used <Time at={key.last_used_at} />
                        </>
                      ) : (
                        "never used"
                      )}
                    </span>
                    {key.revoked_at ? (
                      <Badge>revoked</Badge>
                    ) : (
                      <ActionButton
                        label="Revoke"
                        of={key.name}
                        kind="danger"
                        confirm={<p>Requests with “{key.name}” will be refused, and its sessions end. This cannot be undone.</p>}
                        run={async () => {
                          await call("keys.revoke", { id: key.id });
                          await keys.reload();
                        }}
                      />
                    )}
                  </li>
                ))}
              </ul>
            )
          }
        </QueryResult>
      </Section>
    </>
  );
}

/** What a key is restricted to. */
function Limits({ of: { agent_ids, projects } }: { of: Pick<ApiKey, "agent_ids" | "projects"> }) {
  const limits = [
    ...(projects ? [`projects: ${projects.join(", ")}`] : []),
    ...(agent_ids ? [`agents: ${agent_ids.join(", ")}`] : []),
  ];
  return limits.length === 0 ? null : <span class="why">Only {limits.join("; ")}</span>;
}

function Expiry({ at }: { at: string }) {
  if (isPast(at)) return <Badge tone="bad">expired</Badge>;
  return (
    <span class="side">
      expires <Time at={at} />
    </span>
  );
}

const scopes = [
  ["read", "read: view"],
  ["write", "write: view and act"],
  ["admin", "admin: full access"],
  ["agent", "agent: connect agents over gRPC"],
] as const;

/**
 * The last created key, until the user leaves the page. It is not part of the form, because a refused request may show the login
 * page in between.
 */
const createdKey = signal<string | null>(null);
const isCreating = signal(false);

async function createKey(values: FormData): Promise<void> {
  const wasOpen = session.value?.state === "open";
  const days = textOf(values, "days");
  const expires_at = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null;
  isCreating.value = true;
  try {
    const { key } = await call("keys.create", {
      name: textOf(values, "name"),
      scopes: [textOf(values, "scope") as Scope],
      expires_at,
    });
    createdKey.value = key;
    // Creating the first key makes the API require one, so this page logs in with it.
    if (wasOpen) await logIn(key);
  } finally {
    isCreating.value = false;
  }
}

function NewKey({ reload }: { reload: () => Promise<void> }) {
  useEffect(
    () => () => {
      if (!isCreating.value) createdKey.value = null;
    },
    [],
  );
  const create = async (values: FormData) => {
    await createKey(values);
    await reload().catch(() => {});
  };
  return (
    <Section title="New key">
      {session.value?.state === "open" && (
        <p class="hint lead">Once there is a key, every API request needs one. This page logs in with the new key.</p>
      )}
      <Form label="Create key" run={create} done="Created">
        <Field name="name" label="Name" required placeholder="ci" />
        <SelectField
          name="scope"
          label="Scope"
          options={session.value?.state === "open" ? [...scopes].reverse().slice(1) : scopes}
        />
        <Field name="days" label="Expires after (days)" type="number" min={0} max={36_500} placeholder="never" />
      </Form>
      {createdKey.value && (
        <div class="card new-key" role="status">
          <p>Copy the key now. It is shown only once:</p>
          <code>{createdKey.value}</code> <Copy text={createdKey.value} />
        </div>
      )}
    </Section>
  );
}
