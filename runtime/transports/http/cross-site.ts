import type { IncomingHttpHeaders } from "node:http";
import { rememberLatest } from "@signalbox/sdk";
import { isLoopback, parseAddress } from "../../platform/network/networks.ts";

/**
 * While there are no API keys, the service trusts every caller, and any website can cause an operator's browser to call it. A
 * page of another site is recognised by its `Origin` (cross-site request forgery). A page whose name was changed to point to this
 * service is recognised by its `Host` (DNS rebinding): only a DNS name with dots can be rebound.
 */
interface RequestOrigin {
  readonly method: string;
  /** Target of the request line. */
  readonly target: string;
  readonly headers: Pick<IncomingHttpHeaders, "host" | "origin">;
}

/** Paths that are always open to everyone. Webhooks may arrive through tunnels, which use their own host names. */
const anyHost = /^\/(webhook\/.|health$|openapi\.json$|docs(\/|$))/;
const reads = /^(GET|HEAD|OPTIONS)$/;
const advice = "Set API_KEYS, or create a key with `signalbox keys create`, to use the API from elsewhere.";

/** Why a request is refused while there are no API keys; `null` if it is allowed. `allowed`: the names of `ALLOWED_HOSTS`. */
export function crossSite(
  { method, target, headers: { host, origin } }: RequestOrigin,
  allowed: ReadonlySet<string>,
): string | null {
  if (host !== undefined && !isSafeHost(host, allowed) && !servesAnyHost(target)) {
    const name = JSON.stringify(host.slice(0, 200));
    return `Host: ${name} is not in ALLOWED_HOSTS, and there are no API keys. Add it there, or use an IP address. ${advice}`;
  }
  if (origin === undefined || isSameOrigin(origin, host)) return null;
  if (reads.test(method) && isOurs(afterScheme(origin))) return null;
  return `Origin: a page of ${JSON.stringify(origin.slice(0, 200))} cannot use the API while there are no API keys. ${advice}`;
}

/** Why a page may not call the MCP server, with or without keys; `null` if it may, or if the caller is not a page. */
export function foreignOrigin(host: string | undefined, origin: string | undefined): string | null {
  if (origin === undefined || isOurs(afterScheme(origin)) || afterScheme(origin) === host) return null;
  return `Origin: a page of ${JSON.stringify(origin.slice(0, 200))} cannot use this; only pages of this service can.`;
}

/**
 * Why the host of a request is ambiguous; `null` if it is not. Proxies and browsers may interpret an ambiguous host differently.
 */
export function ambiguousHost(target: string, rawHeaders: readonly string[]): string | null {
  const [host, ...others] = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === "host");
  if (others.length > 0) return `Host: the header is sent ${others.length + 1} times; send it once.`;
  if (host !== undefined && !isAuthority(host))
    return `Host: ${JSON.stringify(host.slice(0, 200))} is not a name or an address, with or without a port.`;
  if (target.startsWith("/") || target === "*") return null;
  if (host !== undefined && URL.canParse(target) && normalHost(new URL(target).host) === normalHost(host)) return null;
  return "The request target must be a path, or an address of the host that the Host header names.";
}

/** Most hosts that are remembered. */
const maxHosts = 100;

/** Remembers what is known of a host: clients use few, and every request names one. */
function remembered(check: (host: string) => boolean): (host: string) => boolean {
  const known = rememberLatest<boolean>(maxHosts);
  return (host) => known(host, () => check(host));
}

/** Whether a text is a host with an optional port and nothing else, so that it can be part of a URL. */
export const isAuthority = remembered((text) => nameOf(text.trim()) !== null && URL.canParse(`http://${text.trim()}`));

/** The path as the routes see it, `null` if the target has none: `/webhook/%2e%2e/api/agents` is `/api/agents`. */
export function pathOf(target: string): string | null {
  const address = target.startsWith("/") ? `http://host${target}` : target;
  return URL.canParse(address) ? new URL(address).pathname : null;
}

/** Whether a target is one of the open paths. A path that is not in its normalised form does not count. */
function servesAnyHost(target: string): boolean {
  const path = pathOf(target);
  return path !== null && anyHost.test(path) && target.split(/[?#]/)[0] === path;
}

const afterScheme = (origin: string): string => origin.replace(/^https?:\/\//, "");
const normalHost = (host: string): string =>
  host
    .trim()
    .toLowerCase()
    .replace(/:(80|443)?$/, "");

/** The name in `localhost:8000`, `127.0.0.1`, `[::1]:8000`, in lower case; `null` for anything else. */
function nameOf(host: string): string | null {
  const name = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]+)(:\d*)?$/i.exec(host)?.[1]?.toLowerCase().replace(/\.$/, "");
  return name === undefined || name === "" ? null : name.replace(/^\[|\]$/g, "");
}
const portOf = (host: string): string => /:(\d+)$/.exec(host)?.[1] ?? "";

function isSafeHost(host: string, allowed: ReadonlySet<string>): boolean {
  const name = nameOf(host);
  if (name === null) return false;
  const single = !name.includes(".") && !name.includes(":");
  return single || isOutsideDns(name) || allowed.has(name);
}

/** Whether no DNS server decides where a name leads: it is an address or a name of this machine. */
const isOutsideDns = remembered((name) => parseAddress(name) !== null || isLocalName(name));

/** Browsers always resolve names below `localhost` to this machine. */
const isLocalName = (name: string): boolean => name === "localhost" || name.endsWith(".localhost") || isLoopback(name);

const isOurs = (host: string): boolean => isLocalName(nameOf(host) ?? "");

/** Whether a page has the same origin: the host that it calls, or another name of this machine on the same port. */
function isSameOrigin(origin: string, host: string | undefined): boolean {
  const from = afterScheme(origin);
  if (host === undefined) return false;
  return normalHost(from) === normalHost(host) || (isOurs(from) && isOurs(host) && portOf(from) === portOf(host));
}
