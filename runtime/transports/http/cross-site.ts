import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "../../platform/network/networks.ts";

/**
 * While there are no API keys the service trusts whoever reaches it, and any website can make the browser of its operator
 * reach it. A page elsewhere shows by its `Origin` (cross-site request forgery); a page whose name was made to point at this
 * machine shows by the `Host` that the browser believes it talks to (DNS rebinding).
 */
export interface Asked {
  readonly path: string;
  readonly headers: Pick<IncomingHttpHeaders, "host" | "origin">;
}

/** Paths that are open to everybody anyway. Webhooks come through tunnels that keep their own host name. */
const anyHost = /^\/(webhook\/|health$|openapi\.json$|docs(\/|$))/;

/** Why a request is refused while there are no API keys; `null` where it is not. `local`: only this machine reaches us. */
export function crossSite({ path, headers: { host, origin } }: Asked, local: boolean): string | null {
  const way = "Set API_KEYS, or make a key with `signalbox keys create`, to use the API from elsewhere.";
  if (local && host !== undefined && !anyHost.test(path) && !isOurs(host)) {
    return `Host: ${JSON.stringify(host.slice(0, 200))} is not a name of this machine, and there are no API keys. ${way}`;
  }
  if (origin === undefined || isOurs(afterScheme(origin)) || (!local && afterScheme(origin) === host)) return null;
  return `Origin: a page of ${JSON.stringify(origin.slice(0, 200))} may not use the API while there are no API keys. ${way}`;
}

/** Why a page may not ask, keys or none; `null` where it may, or where no page asks. Asked of the doors of the MCP server. */
export function foreignOrigin(host: string | undefined, origin: string | undefined): string | null {
  if (origin === undefined || isOurs(afterScheme(origin)) || afterScheme(origin) === host) return null;
  return `Origin: a page of ${JSON.stringify(origin.slice(0, 200))} may not use this; only pages of this service's own address may.`;
}

const afterScheme = (origin: string): string => origin.replace(/^https?:\/\//, "");

/** `localhost:8000`, `127.0.0.1`, `[::1]:8000`. */
function isOurs(host: string): boolean {
  const name = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]]+)(:\d+)?$/i.exec(host)?.[1]?.toLowerCase().replace(/\.$/, "");
  if (name === undefined) return false;
  return name === "localhost" || name.endsWith(".localhost") || isLoopback(name.replace(/^\[|\]$/g, ""));
}
