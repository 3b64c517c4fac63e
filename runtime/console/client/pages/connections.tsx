import { useState } from "preact/hooks";
import type { Integration, Status } from "../../../../schema/gen/client.ts";
import { CallError, call, list, type OutputOf } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { may } from "../api/session.ts";
import { Badge } from "../parts/badge.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { Page, Section, Shown } from "../parts/page.tsx";
import { Copy, Text } from "../parts/text.tsx";
import { countText, Time } from "../parts/time.tsx";
import { base } from "../route/location.ts";
import { ModelCard } from "./connect-model.tsx";
import { NewAccount } from "./new-account.tsx";

export const platforms = [
  {
    id: "alpha",
    name: "GitHub",
    variables: "ALPHA_TOKEN, ALPHA_WEBHOOK_SECRET",
    token: "a fine-grained token with write permission on issues",
  },
  {
    id: "beta",
    name: "GitLab",
    variables: "BETA_TOKEN, BETA_WEBHOOK_SECRET",
    token: "a project access token with the scope api",
  },
  {
    id: "gamma",
    name: "Jira",
    variables: "GAMMA_URL, GAMMA_EMAIL, GAMMA_API_TOKEN, GAMMA_WEBHOOK_SECRET",
    token: "an API token of the account",
  },
  {
    id: "delta",
    name: "Plane",
    variables: "DELTA_API_KEY, DELTA_WORKSPACE_SLUG, DELTA_WEBHOOK_SECRET",
    token: "an API key of the account",
  },
] as const;

/** The address that a tracker sends its webhooks to. */
export const webhookUrl = (slug: string): string => new URL(`${base}webhook/${slug}`, location.href).href;

type Check = Status["checks"][number];
type CheckOf = (account: string) => Check | undefined;

export function ConnectionsPage() {
  const status = useQuery("status", (signal) => call("status.get", {}, signal));
  const checkOf: CheckOf = (account) => status.data?.checks.find(({ name }) => name === account || name.endsWith(`(${account})`));
  const stored = useQuery("integrations", (signal) => list("integrations.list", { limit: 1000 }, signal));
  return (
    <Page title="Connections">
      <Section title="Trackers">
        <p class="hint lead">
          Use an account of its own for Signalbox: people see which comments are its own, and you can give it few rights.
        </p>
        <ul class="list">
          {platforms.map((platform) => (
            <Platform key={platform.id} platform={platform} check={checkOf(`connection:${platform.id}`)} />
          ))}
        </ul>
      </Section>
      <ModelCard />
      <Section title="More accounts">
        <Shown query={stored}>
          {({ items }) =>
            items.length === 0 ? (
              <p class="hint">None. Add one for an agent, a project, or a webhook with a secret of its own.</p>
            ) : (
              <ul class="list">
                {items.map((one) => (
                  <Stored key={one.id} integration={one} check={checkOf(one.id)} reload={stored.reload} />
                ))}
              </ul>
            )
          }
        </Shown>
      </Section>
      <NewAccount reload={stored.reload} />
    </Page>
  );
}

function Platform({ platform, check }: { platform: (typeof platforms)[number]; check: Check | undefined }) {
  const { id, name, variables, token } = platform;
  const test = useQuery(`test ${id}`, async (signal) => (await call("integrations.test", { source: id }, signal)).status, {
    live: false,
  });
  const [asked, setAsked] = useState<string | null>(null);
  const status = test.data;
  const again = async () => {
    setAsked("…");
    await test.reload();
    setAsked(new Date().toLocaleTimeString("en-GB"));
  };
  return (
    <li>
      <span class="main">
        <strong>{name}</strong> <span class="soft">{id}</span>
        <span class="why">
          {status === "not_configured" ? `Needs ${token}: set ${variables}, then restart the service.` : null}
          {status === "failed" && `The account is refused or the server does not answer. Check ${variables}.`}
          {status === "ok" && !check && "The account works."}
          {test.error?.message}
        </span>
        <Health check={check} />
        <span class="url">
          <code>{webhookUrl(id)}</code> <Copy text={webhookUrl(id)} label="Copy the webhook URL" />
        </span>
      </span>
      <Badge tone={status === "ok" ? "good" : status === "failed" ? "bad" : "idle"}>
        {status === undefined ? "…" : status === "not_configured" ? "not set up" : status}
      </Badge>
      <button type="button" onClick={() => void again()}>
        Test
      </button>
      <span class="side" role="status">
        {asked}
      </span>
    </li>
  );
}

/** What the last check of an account found: whether it may write, and what is left of its rate limit. */
function Health({ check }: { check: Check | undefined }) {
  if (!check) return null;
  const { may_write, rate_limit } = check.connection ?? { may_write: null, rate_limit: null };
  return (
    <>
      <span class="why">
        <Text max={400}>{rate_limit?.limit ? check.message.replace(/; \d+ of \d+ requests left[^;]*/, "") : check.message}</Text>
      </span>
      {may_write === false && <span class="why">Give it a credential that may write, or agents cannot answer.</span>}
      {rate_limit?.limit ? (
        <span class="budget-text">
          <meter
            class={rate_limit.remaining < rate_limit.limit / 10 ? "bad" : "good"}
            min={0}
            max={rate_limit.limit}
            value={rate_limit.remaining}
            aria-label="Requests left"
          />{" "}
          {countText(rate_limit.remaining)} of {countText(rate_limit.limit)} requests left
          {rate_limit.resets_at && (
            <>
              , all of them <Time at={rate_limit.resets_at} />
            </>
          )}
        </span>
      ) : null}
    </>
  );
}

interface StoredProps {
  readonly integration: Integration;
  readonly check: Check | undefined;
  readonly reload: () => Promise<void>;
}

function Stored({ integration, check, reload }: StoredProps) {
  const { id, source, name, credentials, missing, agent_id, project_id } = integration;
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
          <code>{webhookUrl(id)}</code> <Copy text={webhookUrl(id)} label="Copy the webhook URL" />
        </span>
        {!tested && <Health check={check} />}
        <span role="status" class="why">
          {tested && <Text max={400}>{`${tested.status === "ok" ? "It works" : "It does not work"}: ${tested.message}`}</Text>}
        </span>
      </span>
      {missing.length > 0 && <Badge tone="wait">incomplete</Badge>}
      <ActionButton
        label="Test"
        disabled={!may.value.write}
        why="Your key may only read."
        run={async () => setTested(await call("integrations.test-stored", { source: id }))}
      />
      <ActionButton
        label="Delete"
        kind="danger"
        disabled={!may.value.admin}
        why="This needs a key with the scope admin."
        confirm={<p>Its credentials are deleted, and its webhook then answers 404. This cannot be undone.</p>}
        run={remove}
      />
    </li>
  );
}

export const messageOf = (error: unknown): string => (error instanceof CallError ? error.message : String(error));
