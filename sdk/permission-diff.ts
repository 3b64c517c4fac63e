import type { DeclaredContributions } from "./declared-contributions.ts";

/** The members of a manifest that decide what its plugin may do. */
interface RequestedPermissions {
  readonly permissions: {
    readonly http: readonly { readonly host: string; readonly methods: readonly string[]; readonly why: string }[];
    readonly operations: readonly { readonly id: string; readonly why: string }[];
    readonly open_routes?: readonly { readonly name: string; readonly why: string }[] | undefined;
  };
  readonly secrets: Readonly<Record<string, { readonly inject?: Injection | undefined }>>;
  readonly needs: readonly string[];
  readonly limits?: Limits;
  readonly contributes?: DeclaredContributions;
  /** JSON Schema of the settings. */
  readonly config?: Schema;
}
interface Injection {
  readonly hosts: readonly string[];
  readonly name: string;
  readonly format: string;
}
interface Limits {
  readonly memory_mb: number;
  readonly concurrency: number;
  readonly call_ms: number;
}
type Schema = Readonly<Record<string, unknown>>;
type Source = DeclaredContributions["sources"][string];

/** Reads an own member only, because a name can be `constructor`. */
const ownMember = <T>(all: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  all && Object.hasOwn(all, name) ? all[name] : undefined;

/** The scopes in order: from callable by everyone to callable by administrators only. */
const scopes = ["open", "read", "write", "admin"] as const;
const defaultLimits = { memory_mb: 64, concurrency: 32, call_ms: 30_000 };

/**
 * The permissions that a version adds and the checks that it removes, compared with another version, as texts for the
 * operator. Empty if there are none. `before` is `null` for a first version.
 */
export const permissionDiff = (before: RequestedPermissions | null, after: RequestedPermissions): string[] => [
  ...permissionsOf(before, after),
  ...secretsOf(before, after),
  ...settingsOf(before, after),
  ...sourcesOf(before?.contributes?.sources, after.contributes?.sources),
  ...contributionsOf(before === null, before?.contributes, after.contributes),
  ...limitsOf(before?.limits ?? defaultLimits, after.limits ?? defaultLimits),
];

function permissionsOf(before: RequestedPermissions | null, after: RequestedPermissions): string[] {
  const additions: string[] = [];
  for (const { host, methods, why } of after.permissions.http) {
    const had = before?.permissions.http.find((one) => one.host === host)?.methods ?? [];
    const fresh = methods.filter((method) => !had.includes(method));
    if (fresh.length > 0) additions.push(`http: ${fresh.join(", ")} https://${host} (${why})`);
  }
  for (const host of defaultHostsOf(after))
    if (!before || !defaultHostsOf(before).includes(host))
      additions.push(`http: any method at ${host}, the default of a setting, unless the setting names another address`);
  for (const one of after.permissions.operations) {
    if (!before?.permissions.operations.some((had) => had.id === one.id)) additions.push(`operation: ${one.id} (${one.why})`);
  }
  for (const { name, why } of after.permissions.open_routes ?? []) {
    if (!before?.permissions.open_routes?.some((had) => had.name === name))
      additions.push(`open route: ${name}, needs no API key (${why})`);
  }
  for (const need of after.needs) if (!before?.needs.includes(need)) additions.push(`capability: ${need}`);
  return additions;
}

/** JSON Schemas of the settings that a plugin receives: its own, and those of its sources and knowledge connectors. */
const settingSchemas = ({ config, contributes }: RequestedPermissions): Schema[] => [
  ...(config ? [config] : []),
  ...Object.values(contributes?.sources ?? {}).map(({ connection }) => connection),
  ...Object.values(contributes?.knowledge ?? {}).map((one) => one.config),
];
const propertiesOf = ({ properties }: Schema): Schema =>
  typeof properties === "object" && properties !== null ? (properties as Schema) : {};

/** Names of the settings that the plugin receives. */
const settingNames = (one: RequestedPermissions): string[] =>
  settingSchemas(one).flatMap((schema) => Object.keys(propertiesOf(schema)));

/** Addresses that the default of a setting allows, with their scheme: `http://10.0.0.1:8080`. */
function defaultHostsOf(one: RequestedPermissions): string[] {
  const found = new Set<string>();
  const search = (value: unknown, isDefault: boolean): void => {
    if (typeof value === "string" && isDefault && /^https?:/i.test(value) && URL.canParse(value))
      found.add(new URL(value).origin);
    if (typeof value !== "object" || value === null) return;
    for (const [key, member] of Object.entries(value)) search(member, isDefault || key === "default" || key === "const");
  };
  for (const schema of settingSchemas(one)) search(schema, false);
  return [...found];
}

function secretsOf(before: RequestedPermissions | null, after: RequestedPermissions): string[] {
  const additions: string[] = [];
  for (const [key, one] of Object.entries(after.secrets)) {
    const had = ownMember(before?.secrets, key);
    const use = one.inject
      ? `put by the host into the header ${one.inject.name} (as ${JSON.stringify(one.inject.format)}) of requests to ${[...one.inject.hosts].sort().join(", ")}`
      : "readable by the plugin";
    if (!had) additions.push(`secret: ${key}, ${use}`);
    else if (had.inject && (!one.inject || !isWithin(one.inject, had.inject))) additions.push(`secret: ${key}, now ${use}`);
  }
  // If a secret is no longer declared but a setting still has its name, the plugin receives its value.
  for (const [key, had] of Object.entries(before?.secrets ?? {})) {
    if (had.inject && !ownMember(after.secrets, key) && settingNames(after).includes(key))
      additions.push(`secret: ${key}, now readable by the plugin as a setting`);
  }
  return additions;
}

const isWithin = (after: Injection, before: Injection): boolean =>
  after.name === before.name && after.format === before.format && after.hosts.every((host) => before.hosts.includes(host));

/** Settings that only the new version receives, except secrets, which are listed separately. */
function settingsOf(before: RequestedPermissions | null, after: RequestedPermissions): string[] {
  const had = before ? settingNames(before) : [];
  const fresh = new Set(settingNames(after).filter((name) => !had.includes(name) && !ownMember(after.secrets, name)));
  // Not listed for a first version, because the operator sets them.
  return before
    ? [...fresh].flatMap((name) => (ownMember(before.secrets, name) ? [] : [`setting: ${name}, readable by the plugin`]))
    : [];
}

/** Differences of sources and of their webhook checks. */
function sourcesOf(before: Readonly<Record<string, Source>> = {}, after: Readonly<Record<string, Source>> = {}): string[] {
  const additions: string[] = [];
  for (const [name, one] of Object.entries(after)) {
    const had = ownMember(before, name);
    const check = one.signature
      ? `the host checks ${one.signature.type} in the header ${one.signature.header} with the setting ${one.signature.secret}`
      : "the plugin alone checks its webhooks";
    if (!had) {
      additions.push(`source: ${name}, which receives webhooks; ${check}`);
      continue;
    }
    if (had.signature && !isSameSignature(had.signature, one.signature)) additions.push(`source: ${name}, now ${check}`);
    const plain = had.secrets.filter(
      (secret) => !one.secrets.includes(secret) && ownMember(propertiesOf(one.connection), secret),
    );
    for (const secret of plain) additions.push(`source: ${name}, its setting ${secret} is no longer kept secret`);
    for (const setting of had.required)
      if (!one.required.includes(setting)) additions.push(`source: ${name}, no longer requires the setting ${setting}`);
  }
  return additions;
}

const isSameSignature = (before: NonNullable<Source["signature"]>, after: Source["signature"]): boolean =>
  after !== undefined &&
  before.type === after.type &&
  before.header === after.header &&
  before.secret === after.secret &&
  (before.prefix ?? "") === (after.prefix ?? "");

type Contributed<K extends keyof DeclaredContributions> = DeclaredContributions[K] | undefined;

function routesOf(before: Contributed<"routes">, after: Contributed<"routes">): string[] {
  const additions: string[] = [];
  for (const [name, { scope }] of Object.entries(after ?? {})) {
    const had = ownMember(before, name)?.scope;
    // Open routes are listed with the permissions.
    if (scope === "open" || (had !== undefined && scopes.indexOf(scope) >= scopes.indexOf(had))) continue;
    additions.push(`route: ${name}, for API keys with the scope ${scope}${had === undefined ? "" : `, before ${had}`}`);
  }
  return additions;
}

/** The tools that read are not listed for a first version, because they are listed separately. */
function toolsOf(isFirst: boolean, before: Contributed<"tools">, after: Contributed<"tools">): string[] {
  const additions: string[] = [];
  for (const [name, { effect }] of Object.entries(after ?? {})) {
    const had = ownMember(before, name)?.effect;
    if (effect === "write" && had !== "write")
      additions.push(`tool: ${name}, which writes${had === undefined ? "" : `; until now it only read`}`);
    else if (had === undefined && !isFirst) additions.push(`tool: ${name}, which reads`);
  }
  return additions;
}

function knowledgeOf(before: Contributed<"knowledge">, after: Contributed<"knowledge">): string[] {
  const additions: string[] = [];
  for (const [name, { secrets }] of Object.entries(after ?? {})) {
    const had = ownMember(before, name);
    if (!had) additions.push(`knowledge connector: ${name}, which receives the credentials of knowledge sources of this type`);
    for (const secret of had?.secrets ?? [])
      if (!secrets.includes(secret))
        additions.push(`knowledge connector: ${name}, its setting ${secret} is no longer kept secret`);
  }
  return additions;
}

function queuesOf(before: Contributed<"queues">, after: Contributed<"queues">): string[] {
  const additions: string[] = [];
  for (const [name, { feeds }] of Object.entries(after ?? {})) {
    const had = ownMember(before, name);
    if (!had) additions.push(`queue: ${name}, which receives every event and every execution that ends, waits or is held`);
    if (feeds && !had?.feeds) additions.push(`queue: ${name}, which delivers webhooks`);
  }
  return additions;
}

/** Differences of the other contributions: which callers can use them, and what the plugin receives through them. */
function contributionsOf(
  isFirst: boolean,
  before: Partial<DeclaredContributions> = {},
  after: Partial<DeclaredContributions> = {},
): string[] {
  const added = (kind: "useCases" | "memories") =>
    Object.keys(after[kind] ?? {}).filter((name) => !ownMember<unknown>(before[kind], name));
  return [
    ...routesOf(before.routes, after.routes),
    ...toolsOf(isFirst, before.tools, after.tools),
    ...knowledgeOf(before.knowledge, after.knowledge),
    ...added("useCases").map((name) => `use case: ${name}, which operators can set up`),
    ...queuesOf(before.queues, after.queues),
    ...added("memories").map((name) => `memory store: ${name}, which receives memories if an operator chooses it`),
  ];
}

function limitsOf(before: Limits, after: Limits): string[] {
  const asks = (what: string, had: number, wants: number) => (wants > had ? [`limit: ${what} ${wants}, before ${had}`] : []);
  return [
    ...asks("memory in MiB", before.memory_mb, after.memory_mb),
    ...asks("calls at the same time", before.concurrency, after.concurrency),
    ...asks("milliseconds of one call", before.call_ms, after.call_ms),
  ];
}
