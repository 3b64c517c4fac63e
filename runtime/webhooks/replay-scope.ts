import { scrypt } from "node:crypto";
import { promisify } from "node:util";
import type { Connection, Connections } from "../plugins/connections.ts";
import { checkWithoutBody, unavailableBody, verifierOf } from "./admit.ts";
import { previousSecretOf } from "./previous-secret.ts";
import type { Entry } from "./received-webhook.ts";

/**
 * The names under which a signed body counts as received: one for each secret that its webhook accepts, because whoever has a copy
 * of a signed body can send it to each webhook of the source with that secret. While a secret is replaced, a webhook accepts two. A
 * name depends on the source and the secret only, so it is the same whichever webhooks are added or deleted.
 */
export async function replayScopes(entry: Entry, { environment }: Pick<Connections, "environment">): Promise<readonly string[]> {
  const [source, secrets] =
    entry.kind === "connection"
      ? [entry.connection.source.name, await secretsOf(await verifierOf(entry.connection, environment))]
      : [entry.rules[0]?.source ?? "", entry.rules.flatMap(({ secret }) => secret ?? [])];
  // The plugin verifies with something other than its secrets.
  if (secrets.length === 0) return [entry.slug];
  return Promise.all([...new Set(secrets)].map((secret) => scopeOf(source, secret)));
}

const scopes = new Map<string, Promise<string>>();
const maxScopes = 10_000;

/** Computed once for each secret. */
function scopeOf(source: string, secret: string): Promise<string> {
  const key = `${source} ${secret}`;
  const known = scopes.get(key);
  if (known) return known;
  if (scopes.size >= maxScopes) scopes.clear();
  const scope = derive(source, secret);
  scopes.set(key, scope);
  scope.catch(() => scopes.delete(key));
  return scope;
}

/** Slow to compute, so that a weak secret cannot be found by its names in a copy of the database. Has a space, unlike any path. */
async function derive(source: string, secret: string): Promise<string> {
  const bytes = await promisify<string, string, number, { N: number }, Buffer>(scrypt)(
    secret,
    `signalbox webhook ${source}`,
    16,
    { N: 4096 },
  );
  return `${source} ${bytes.toString("base64url")}`;
}

const secretsCache = new WeakMap<Connection, readonly string[]>();

/** The secrets with which the webhooks of a connection can be signed. */
async function secretsOf(connection: Connection): Promise<readonly string[]> {
  const cached = secretsCache.get(connection);
  if (cached) return cached;
  const { source, settings } = connection;
  const names = new Set<string>();
  if (source.sandboxed) names.add(source.adapter.signature?.secret ?? "");
  else {
    const get = (all: typeof settings, name: string | symbol) => {
      if (typeof name === "string") names.add(name);
      return Reflect.get(all, name);
    };
    const bare = { headers: {}, body: unavailableBody };
    await checkWithoutBody(() => source.adapter.verify(bare, new Proxy({ ...settings }, { get })));
  }
  const values = [...names].filter((name) => source.adapter.secrets.includes(name)).map((name) => settings[name]);
  const secrets = [...values, previousSecretOf(connection)].filter((one) => typeof one === "string" && one !== "") as string[];
  secretsCache.set(connection, secrets);
  return secrets;
}
