import type { Connection, Connections } from "../plugins/connections.ts";
import { checkWithoutBody, unavailableBody, verifierOf } from "./admit.ts";
import type { MappingRules, PathRule } from "./mapping-rules.ts";
import { previousSecretOf } from "./previous-secret.ts";
import type { Entry } from "./receiver.ts";

export interface ReplayScopeOptions {
  readonly connections: Pick<Connections, "ofSource" | "environment">;
  readonly rules: Pick<MappingRules, "byPathOf">;
}

/** One of the webhooks of a source. */
interface Target {
  readonly name: string;
  readonly secrets: readonly string[];
}

/**
 * The name under which a signed body counts as received. Webhooks of a source that share a secret have one name, because
 * whoever has a copy of a signed body can send it to each of them.
 */
export async function replayScope(entry: Entry, slug: string, { connections, rules }: ReplayScopeOptions): Promise<string> {
  const targetOf = async (connection: Connection): Promise<Target> => ({
    name: slugOf(connection),
    secrets: await secretsOf(await verifierOf(connection, connections.environment)),
  });
  const own = entry.kind === "connection" ? [await targetOf(entry.connection)] : entry.rules.flatMap(targetOfRule);
  if (own.every(({ secrets }) => secrets.length === 0)) return own[0]?.name ?? slug;
  const source = entry.kind === "connection" ? entry.connection.source.name : (entry.rules[0]?.source ?? "");
  const byAge = connections.ofSource(source).toSorted((a, b) => ageOf(a).localeCompare(ageOf(b)));
  const all = [...(await Promise.all(byAge.map(targetOf))), ...rules.byPathOf(source).flatMap(targetOfRule)];
  const shared = new Set(own.flatMap(({ secrets }) => secrets));
  const isShared = ({ secrets }: Target) => secrets.some((one) => shared.has(one));
  // While a secret is replaced, a webhook accepts two, and each can be that of another webhook.
  for (let before = 0; before < shared.size; ) {
    before = shared.size;
    for (const one of all.filter(isShared)) for (const secret of one.secrets) shared.add(secret);
  }
  // The oldest, so that a new webhook with the secret does not change the name.
  return all.find(isShared)?.name ?? own[0]?.name ?? slug;
}

/** The environment's connection is the oldest; the ids of integrations begin with their time. */
const ageOf = ({ id }: Connection): string => (id === "environment" ? "" : id);

/** The path segment of a connection's webhook. */
export const slugOf = ({ id, source }: Pick<Connection, "id" | "source">): string => (id === "environment" ? source.name : id);

/** Contains a space, unlike any path. */
const targetOfRule = ({ id, secret }: PathRule): Target[] =>
  secret === null ? [] : [{ name: `mapping ${id}`, secrets: [secret] }];

const known = new WeakMap<Connection, readonly string[]>();

/** The secrets with which the webhooks of a connection can be signed. */
async function secretsOf(connection: Connection): Promise<readonly string[]> {
  const cached = known.get(connection);
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
  known.set(connection, secrets);
  return secrets;
}
