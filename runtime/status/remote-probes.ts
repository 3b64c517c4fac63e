import type { Embedder } from "../memory/embedder.ts";
import { raceTimeout } from "../platform/abortable.ts";
import { causeOf } from "../platform/error-text.ts";
import type { Accounts } from "../plugins/accounts.ts";
import { type Connection, slugOf } from "../plugins/connections.ts";
import { previousSecretOf } from "../webhooks/previous-secret.ts";
import type { Check, Finding, Probe } from "./board.ts";

const everyMs = 60_000;
/** Maximum wait for the check of an account while requests of its plugin are held, in milliseconds. */
const heldMs = 3_000;
const isHeld = Symbol("held");

interface ModelAddress {
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

/** Whether the model's server responds. Requests its list of models, which is free of charge. */
export function modelProbe({ baseUrl, apiKey, fetch }: ModelAddress): Probe {
  const run = async (signal: AbortSignal): Promise<Finding[]> => {
    if (!baseUrl) return [{ name: "model", state: "failed", message: "no LLM is configured: set LLM_BASE_URL" }];
    const { host } = new URL(baseUrl);
    try {
      const headers = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
      const { status, body } = await fetch(`${baseUrl.replace(/\/+$/, "")}/models`, { signal, headers });
      await body?.cancel();
      if (status === 401 || status === 403)
        return [{ name: "model", state: "failed", message: `${host} answered ${status}: LLM_API_KEY is not accepted` }];
      if (status >= 500) return [{ name: "model", state: "failed", message: `${host} answered ${status}` }];
      return [{ name: "model", state: "ok", message: `${host} answers` }];
    } catch (error) {
      return [{ name: "model", state: "failed", message: `${host}: ${causeOf(error)}` }];
    }
  };
  return { name: "model", everyMs, asks: true, run };
}

export const embedderProbe = (embedder: Embedder, baseUrl: string | undefined): Probe => ({
  name: "embedder",
  everyMs: 5 * everyMs,
  asks: true,
  run: async (signal) => {
    if (embedder.local) return [{ name: "embedder", state: "ok", message: `${embedder.model}, in this process` }];
    const host = baseUrl ? new URL(baseUrl).host : "the embedding API";
    try {
      await embedder.embedAll(["status"], signal);
      return [{ name: "embedder", state: "ok", message: `${embedder.model} at ${host} answers` }];
    } catch (error) {
      const message = `${embedder.model} at ${host}: ${causeOf(error).replace(/\.$/, "")}; memories are found by keyword only`;
      return [{ name: "embedder", state: "degraded", message }];
    }
  },
});

interface ConnectionSources {
  /** Accounts from the environment, and stored ones with the name of their integration. */
  readonly all: () => Promise<readonly { readonly name: string; readonly connection: Connection }[]>;
  readonly accounts: Accounts;
  /** When the previous webhook secret was last used, by `slugOf`. */
  readonly previousUses: () => Promise<ReadonlyMap<string, string>>;
  /** Until when the platform's rate limit delays the requests of a plugin, in milliseconds since 1970. */
  readonly heldUntil: (plugin: string) => number | null;
}

/** Whether each account at a tracker works: its login, and whether its requests are delayed. */
export const connectionProbe = ({ all, accounts, previousUses, heldUntil }: ConnectionSources): Probe => ({
  name: "connections",
  everyMs,
  asks: true,
  run: async (signal) => {
    const [connections, uses] = await Promise.all([all(), previousUses()]);
    return Promise.all(
      connections.map(async (one): Promise<Finding> => {
        const finding = await connectionFinding(one, accounts, heldUntil, signal);
        if (previousSecretOf(one.connection) === null) return finding;
        const used = uses.get(slugOf(one.connection));
        const last = used === undefined ? "has not been used" : `was last used at ${used}`;
        return { ...finding, message: `${finding.message}; the previous webhook secret ${last}` };
      }),
    );
  },
});

async function connectionFinding(
  { name, connection }: { name: string; connection: Connection },
  accounts: Accounts,
  heldUntil: ConnectionSources["heldUntil"],
  signal: AbortSignal,
): Promise<Finding> {
  const { source, settings } = connection;
  const host = hostOf(settings);
  try {
    const answer = source.adapter.check({ connection: settings, key: "status", signal });
    const held = heldUntil(source.plugin);
    // The hold is of one account of the plugin: a check that answers meanwhile is of another.
    const result = held === null ? await answer : await raceTimeout(answer, heldMs, isHeld);
    if (result === isHeld) {
      const until = new Date(held ?? 0).toISOString();
      return { name, state: "degraded", message: `${host}: the rate limit is exhausted; requests are held`, next_try_at: until };
    }
    const report = result ?? {};
    const { may_write = null, rate_limit = null } = report;
    const account = await accounts.of(connection);
    const known = { account, may_write, rate_limit };
    const sentences = [`${host} answers`, ...(account === null ? [] : [`account ${account}`]), ...sentencesOf(known)];
    const weak = may_write === false || rate_limit?.remaining === 0;
    return { name, state: weak ? "degraded" : "ok", message: sentences.join("; "), connection: known };
  } catch (error) {
    return { name, state: "failed", message: `${host}: ${causeOf(error)}` };
  }
}

function sentencesOf({ may_write, rate_limit }: Pick<NonNullable<Check["connection"]>, "may_write" | "rate_limit">): string[] {
  const write =
    may_write === null ? [] : [may_write ? "can write" : "its credential has no write permission, so comments will be refused"];
  if (!rate_limit) return write;
  const { remaining, limit, resets_at } = rate_limit;
  const until = resets_at === null ? "" : ` until ${resets_at}`;
  return [...write, `${remaining}${limit === null ? "" : ` of ${limit}`} requests left${until}`];
}

/** The name of a connection in the names of checks. `names`: those of the integrations, by id. */
export const accountName = (source: string, id: string, names: ReadonlyMap<string, string>): string =>
  id === "environment" ? source : `${names.get(id) ?? source} (${id})`;

/** The host in the settings. */
export function hostOf(settings: Readonly<Record<string, unknown>>): string {
  for (const value of Object.values(settings))
    if (typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value)) return new URL(value).host;
  return "the platform";
}
