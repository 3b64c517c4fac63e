import type { DeclaredContributions } from "./contributes.ts";
import type { BuiltManifest, Manifest } from "./manifest.ts";

type Asking = Pick<Manifest, "permissions" | "secrets" | "needs"> & Partial<Pick<BuiltManifest, "limits" | "contributes">>;

/** A member of its own: `constructor` is a name as good as another. */
const own = <T>(all: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  all && Object.hasOwn(all, name) ? all[name] : undefined;

/** From what everybody may call to what an administrator may. */
const scopes = ["open", "read", "write", "admin"] as const;
const usualLimits = { memory_mb: 64, concurrency: 32, call_ms: 30_000 };

/**
 * What a version may do, or lets others do, that another does not, in words for the operator; empty where it asks for nothing
 * more. `null`: there is no other.
 */
export const permissionDiff = (before: Asking | null, after: Asking): string[] => [
  ...permissionsOf(before, after),
  ...secretsOf(before, after),
  ...contributionsOf(before?.contributes, after.contributes),
  ...limitsOf(before?.limits ?? usualLimits, after.limits ?? usualLimits),
];

function permissionsOf(before: Asking | null, after: Asking): string[] {
  const more: string[] = [];
  for (const { host, methods, why } of after.permissions.http) {
    const had = before?.permissions.http.find((one) => one.host === host)?.methods ?? [];
    const fresh = methods.filter((method) => !had.includes(method));
    if (fresh.length > 0) more.push(`http: ${fresh.join(", ")} https://${host} (${why})`);
  }
  for (const one of after.permissions.operations) {
    if (!before?.permissions.operations.some((had) => had.id === one.id)) more.push(`operation: ${one.id} (${one.why})`);
  }
  for (const { name, why } of after.permissions.open_routes ?? []) {
    if (!before?.permissions.open_routes?.some((had) => had.name === name))
      more.push(`open route: ${name}, for everybody, without an API key (${why})`);
  }
  for (const need of after.needs) if (!before?.needs.includes(need)) more.push(`capability: ${need}`);
  return more;
}

function secretsOf(before: Asking | null, after: Asking): string[] {
  const more: string[] = [];
  for (const [key, one] of Object.entries(after.secrets)) {
    const had = own(before?.secrets, key);
    const to = (hosts: readonly string[] = []) => [...hosts].sort().join(", ");
    const use = one.inject
      ? `put by the host into ${one.inject.name} of requests to ${to(one.inject.hosts)}`
      : "readable by the plugin";
    if (!had) more.push(`secret: ${key}, ${use}`);
    else if (
      had.inject &&
      (!one.inject || one.inject.hosts.some((host) => !had.inject?.hosts.includes(host)) || one.inject.name !== had.inject.name)
    )
      more.push(`secret: ${key}, now ${use}`);
  }
  return more;
}

/** What callers get, and what the plugin is handed by what it contributes. */
function contributionsOf(before: Partial<DeclaredContributions> = {}, after: Partial<DeclaredContributions> = {}): string[] {
  const more: string[] = [];
  for (const [name, { scope }] of Object.entries(after.routes ?? {})) {
    const had = own(before.routes, name)?.scope;
    // An open one is among the permissions.
    if (scope === "open" || (had !== undefined && scopes.indexOf(scope) >= scopes.indexOf(had))) continue;
    more.push(`route: ${name}, for API keys with the scope ${scope}${had === undefined ? "" : `, before ${had}`}`);
  }
  for (const [name, { effect }] of Object.entries(after.tools ?? {})) {
    const had = own(before.tools, name)?.effect;
    if (effect === "write" && had !== "write")
      more.push(`tool: ${name}, which writes${had === undefined ? "" : `, before it only read`}`);
  }
  for (const name of Object.keys(after.queues ?? {}))
    if (!own(before.queues, name)) more.push(`queue: ${name}, which is handed every received event and finished execution`);
  for (const name of Object.keys(after.memories ?? {}))
    if (!own(before.memories, name)) more.push(`memory store: ${name}, which is handed memories where an operator chooses it`);
  return more;
}

function limitsOf(before: Manifest["limits"], after: Manifest["limits"]): string[] {
  const asks = (what: string, had: number, wants: number) => (wants > had ? [`limit: ${what} ${wants}, before ${had}`] : []);
  return [
    ...asks("memory in MiB", before.memory_mb, after.memory_mb),
    ...asks("calls at the same time", before.concurrency, after.concurrency),
    ...asks("milliseconds of one call", before.call_ms, after.call_ms),
  ];
}
