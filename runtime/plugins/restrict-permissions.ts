import { fieldProblem } from "@signalbox/schema/problem";
import type { BuiltManifest } from "@signalbox/sdk/manifest";

/** The permissions of a manifest that an operator denied. They stay denied after upgrades. */
export interface DeniedPermissions {
  readonly http: readonly { readonly host: string; readonly methods: readonly string[] }[];
  readonly operations: readonly string[];
  readonly open_routes: readonly string[];
}
/** The permissions that an operator keeps; omitted members do not change. */
interface AllowedPermissions {
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

/**
 * The permissions of a manifest that are denied if only `allowedPermissions` is kept. Throws a `Problem` if `allowedPermissions`
 * contains others.
 */
export function denialsFor(
  allowedPermissions: AllowedPermissions,
  { id, version, permissions }: Pick<BuiltManifest, "id" | "version" | "permissions">,
  earlierDenials: DeniedPermissions | null,
): DeniedPermissions {
  const requireSubset = (field: string, requested: readonly string[], all: readonly string[]) => {
    const at = requested.findIndex((one) => !all.includes(one));
    if (at < 0) return;
    const path = `${field}[${at}]`;
    throw fieldProblem(
      path,
      `${requested[at]} is not a permission that ${id} ${version} requests; it requests: ${all.join(", ") || "none"}`,
    );
  };
  const denialsIn = (all: readonly string[], allowed: readonly string[], deniedBefore: readonly string[] = []) => [
    ...deniedBefore.filter((one) => !all.includes(one)),
    ...all.filter((one) => !allowed.includes(one)),
  ];
  const hosts = permissions.http.map(({ host }) => host);
  const operations = permissions.operations.map((one) => one.id);
  const routes = permissions.open_routes?.map(({ name }) => name) ?? [];
  if (allowedPermissions.http)
    requireSubset(
      "http",
      allowedPermissions.http.map(({ host }) => host),
      hosts,
    );
  for (const [i, { host, methods }] of (allowedPermissions.http ?? []).entries())
    requireSubset(`http[${i}].methods`, methods, permissions.http.find((one) => one.host === host)?.methods ?? []);
  if (allowedPermissions.operations) requireSubset("operations", allowedPermissions.operations, operations);
  if (allowedPermissions.open_routes) requireSubset("open_routes", allowedPermissions.open_routes, routes);
  const allowedMethods = (host: string) =>
    allowedPermissions.http?.flatMap((one) => (one.host === host ? [...one.methods] : [])) ?? [];
  const deniedMethods = (host: string) => earlierDenials?.http.find((one) => one.host === host)?.methods ?? [];
  // Permissions that an older version requested and that were denied remain denied.
  const older = earlierDenials?.http.filter(({ host }) => !hosts.includes(host)) ?? [];
  const http = permissions.http.map(({ host, methods }) => ({
    host,
    methods: denialsIn(methods, allowedMethods(host), deniedMethods(host)),
  }));
  return {
    http: allowedPermissions.http
      ? [...older, ...http.filter(({ methods }) => methods.length > 0)]
      : (earlierDenials?.http ?? []),
    operations: allowedPermissions.operations
      ? denialsIn(operations, allowedPermissions.operations, earlierDenials?.operations)
      : (earlierDenials?.operations ?? []),
    open_routes: allowedPermissions.open_routes
      ? denialsIn(routes, allowedPermissions.open_routes, earlierDenials?.open_routes)
      : (earlierDenials?.open_routes ?? []),
  };
}
