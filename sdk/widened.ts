import type { Manifest } from "./manifest.ts";

/** What a version may do that another may not, in words for the operator; empty where it asks for nothing more. */
export function widened(
  before: Pick<Manifest, "permissions" | "secrets" | "needs"> | null,
  after: Pick<Manifest, "permissions" | "secrets" | "needs">,
): string[] {
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
  for (const [key, one] of Object.entries(after.secrets)) {
    const had = before?.secrets[key];
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
