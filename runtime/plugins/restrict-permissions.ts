import { problem } from "@signalbox/schema/problem";
import type { BuiltManifest } from "@signalbox/sdk/manifest";

/** The permissions of a manifest that an operator denied. They stay denied after upgrades. */
export interface DeniedPermissions {
  readonly http: readonly { readonly host: string; readonly methods: readonly string[] }[];
  readonly operations: readonly string[];
  readonly open_routes: readonly string[];
}
/** The permissions that an operator keeps; omitted members do not change. */
export interface AllowedPermissions {
  readonly http?: readonly { readonly host: string; readonly methods: readonly string[] }[] | undefined;
  readonly operations?: readonly string[] | undefined;
  readonly open_routes?: readonly string[] | undefined;
}

/**
 * The manifest as the host enforces it, without the denied permissions. A host without any allowed method is still listed, so
 * that no setting with its address makes it reachable again. A denied open route requires an API key.
 */
export function restrictPermissions(manifest: BuiltManifest, denied: DeniedPermissions | null): BuiltManifest {
  if (!denied) return manifest;
  const { permissions, contributes } = manifest;
  const methodsAt = (host: string) => denied.http.find((one) => one.host === host)?.methods ?? [];
  const open = permissions.open_routes?.filter(({ name }) => !denied.open_routes.includes(name)) ?? [];
  const routes = Object.entries(contributes.routes ?? {}).map(([name, one]) => {
    const closed = one.scope === "open" && !open.some((route) => route.name === name);
    return [name, closed ? { ...one, scope: one.method === "GET" ? ("read" as const) : ("write" as const) } : one] as const;
  });
  return {
    ...manifest,
    permissions: {
      http: permissions.http.map((one) => ({
        ...one,
        methods: one.methods.filter((method) => !methodsAt(one.host).includes(method)),
      })),
      operations: permissions.operations.filter(({ id }) => !denied.operations.includes(id)),
      open_routes: open,
    },
    contributes: { ...contributes, routes: Object.fromEntries(routes) },
  };
}

/** The permissions of a manifest that are denied if only `wanted` is kept. Throws a `Problem` if `wanted` contains others. */
export function denialsFor(
  wanted: AllowedPermissions,
  { id, version, permissions }: Pick<BuiltManifest, "id" | "version" | "permissions">,
  before: DeniedPermissions | null,
): DeniedPermissions {
  const requireSubset = (field: string, requested: readonly string[], all: readonly string[]) => {
    const at = requested.findIndex((one) => !all.includes(one));
    if (at < 0) return;
    const path = `${field}[${at}]`;
    throw problem(
      "bad_request",
      `${path}: ${requested[at]} is not a permission that ${id} ${version} requests; it requests: ${all.join(", ") || "none"}`,
      {
        field: path,
      },
    );
  };
  const denialsIn = (all: readonly string[], allowed: readonly string[], deniedBefore: readonly string[] = []) => [
    ...deniedBefore.filter((one) => !all.includes(one)),
    ...all.filter((one) => !allowed.includes(one)),
  ];
  const hosts = permissions.http.map(({ host }) => host);
  const operations = permissions.operations.map((one) => one.id);
  const routes = permissions.open_routes?.map(({ name }) => name) ?? [];
  if (wanted.http)
    requireSubset(
      "http",
      wanted.http.map(({ host }) => host),
      hosts,
    );
  for (const [i, { host, methods }] of (wanted.http ?? []).entries())
    requireSubset(`http[${i}].methods`, methods, permissions.http.find((one) => one.host === host)?.methods ?? []);
  if (wanted.operations) requireSubset("operations", wanted.operations, operations);
  if (wanted.open_routes) requireSubset("open_routes", wanted.open_routes, routes);
  const allowedMethods = (host: string) => wanted.http?.flatMap((one) => (one.host === host ? [...one.methods] : [])) ?? [];
  const deniedMethods = (host: string) => before?.http.find((one) => one.host === host)?.methods ?? [];
  // Permissions that an older version requested and that were denied remain denied.
  const older = before?.http.filter(({ host }) => !hosts.includes(host)) ?? [];
  const http = permissions.http.map(({ host, methods }) => ({
    host,
    methods: denialsIn(methods, allowedMethods(host), deniedMethods(host)),
  }));
  return {
    http: wanted.http ? [...older, ...http.filter(({ methods }) => methods.length > 0)] : (before?.http ?? []),
    operations: wanted.operations ? denialsIn(operations, wanted.operations, before?.operations) : (before?.operations ?? []),
    open_routes: wanted.open_routes ? denialsIn(routes, wanted.open_routes, before?.open_routes) : (before?.open_routes ?? []),
  };
}
