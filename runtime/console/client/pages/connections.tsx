import { useState } from "preact/hooks";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { type Check, Health, webhookUrl } from "../parts/account-health.tsx";
import { Badge, State } from "../parts/badge.tsx";
import { Page, QueryResult, Section } from "../parts/page.tsx";
import { Copy, nameIn } from "../parts/text.tsx";
import { ModelCard } from "./connect-model.tsx";
import { NewAccount } from "./new-account.tsx";
import { StoredAccount } from "./stored-account.tsx";
import { WebhookSetup } from "./webhook-setup.tsx";

const isLocal = (url: string): boolean => /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);

const platforms = [
  {
    id: "alpha",
    name: "GitHub",
    variables: "ALPHA_TOKEN and ALPHA_WEBHOOK_SECRET",
    token: "a fine-grained token with write permission on issues",
  },
  {
    id: "beta",
    name: "GitLab",
    variables: "BETA_TOKEN and BETA_WEBHOOK_SECRET",
    token: "a project access token with the api scope",
  },
  {
    id: "gamma",
    name: "Jira",
    variables: "GAMMA_URL, GAMMA_EMAIL, GAMMA_API_TOKEN and GAMMA_WEBHOOK_SECRET",
    token: "an API token for the account",
  },
  {
    id: "delta",
    name: "Plane",
    variables: "DELTA_API_KEY, DELTA_WORKSPACE_SLUG and DELTA_WEBHOOK_SECRET",
    token: "an API key for the account",
  },
] as const;

type CheckOf = (account: string) => Check | undefined;

export function ConnectionsPage() {
  const status = useQuery("status", (signal) => call("status.get", {}, signal));
  const checkOf: CheckOf = (account) => status.data?.checks.find(({ name }) => name === account || name.endsWith(`(${account})`));
  const storedAccounts = useQuery("integrations", (signal) => list("integrations.list", { limit: 1000 }, signal));
  return (
    <Page title="Connections">
      <Section title="Trackers">
        <p class="hint lead">
          Give Signalbox its own account. People can then tell which comments it wrote, it recognises its own events, and you can
          limit its permissions.
        </p>
        {isLocal(webhookUrl("")) && (
          <p class="hint lead">
            Trackers on other machines cannot reach the webhook URLs below. Put a reverse proxy with TLS in front of the service,
            and set <code>PUBLIC_URL</code> to its address.
          </p>
        )}
        <ul class="list">
          {platforms.map((platform) => (
            <Platform key={platform.id} platform={platform} check={checkOf(`connection:${platform.id}`)} />
          ))}
        </ul>
        <details class="below">
          <summary>How to replace a webhook secret</summary>
          <p class="hint">
            Keep the old secret as <code>…_WEBHOOK_SECRET_PREVIOUS</code> and set the new one. Restart the service, then change
            the secret in the tracker. Both are accepted until you remove the old one.
          </p>
        </details>
      </Section>
      <ModelCard />
      <Section title="More accounts">
        <QueryResult query={storedAccounts}>
          {({ items }) =>
            items.length === 0 ? (
              <p class="hint">None yet. Add one below for an agent, a project or a webhook with its own secret.</p>
            ) : (
              <ul class="list">
                {items.map((one) => (
                  <StoredAccount key={one.id} integration={one} check={checkOf(one.id)} reload={storedAccounts.reload} />
                ))}
              </ul>
            )
          }
        </QueryResult>
      </Section>
      <NewAccount reload={storedAccounts.reload} />
    </Page>
  );
}

function Platform({ platform, check }: { platform: (typeof platforms)[number]; check: Check | undefined }) {
  const { id, name, variables, token } = platform;
  const test = useQuery(`test ${id}`, async (signal) => (await call("integrations.test", { source: id }, signal)).status, {
    live: false,
  });
  const [progress, setProgress] = useState<string | null>(null);
  const status = test.data;
  const again = async () => {
    setProgress("testing…");
    await test.reload();
    setProgress(`tested at ${new Date().toLocaleTimeString("en-GB")}`);
  };
  return (
    <li>
      <span class="main">
        <strong>{name}</strong> <span class="soft">{id}</span>
        <span class="why">
          {status === "not_configured"
            ? `Create ${token}, set ${variables} in the environment or in .env, then restart the service. Send webhooks to:`
            : null}
          {status === "failed" && `The platform rejects the account or is not responding. Check ${variables}.`}
          {status === "ok" && !check && "The account works."}
          {test.error?.message}
        </span>
        <Health check={check} />
        <span class="url">
          <code>{webhookUrl(id)}</code> <Copy text={webhookUrl(id)} label="Copy webhook URL" of={name} />
        </span>
      </span>
      {status === undefined ? <Badge>…</Badge> : <State of="account" state={status} />}
      <span class="buttons">
        {status === "ok" && <WebhookSetup source={id} platform={name} />}
        <button type="button" aria-label={nameIn("Test", name)} onClick={() => void again()}>
          Test
        </button>
        {progress && (
          <span class="side" role="status">
            {progress}
          </span>
        )}
      </span>
    </li>
  );
}
