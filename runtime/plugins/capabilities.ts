import { Problem } from "@signalbox/schema/problem";
import type { Capabilities, Plugin, SharedThrottle } from "@signalbox/sdk";
import { inMemoryThrottle, PluginError } from "@signalbox/sdk";
import type { Log } from "../platform/log.ts";
import { redirects, temporaryRedirects } from "../platform/network/redirects.ts";
import { openTcp } from "../platform/network/tcp.ts";
import { headerOf } from "../platform/network/whole-response.ts";

/** What the host provides for plugins, in addition to the capabilities that are created for each. */
export type Grants = Partial<
  Pick<Capabilities, "sql" | "redis" | "secret" | "embed" | "vectors" | "operations" | "trackers" | "throttle" | "offload">
>;

/** Hosts that a plugin's `fetch` may reach, in addition to those that it declares. */
export interface InProcessEgressRules {
  /** Sends a body at most once. */
  readonly fetch: typeof globalThis.fetch;
  /** Hosts that the operator names in the environment; they may have any address. */
  readonly hosts: () => readonly string[];
  /** Servers that TCP connections may reach, as `host:port`. */
  readonly servers: () => readonly string[];
  /** Hosts that users entered. */
  readonly userUrls?: { readonly hosts: () => readonly string[]; readonly fetch: typeof globalThis.fetch };
}

/** Exactly the capabilities that a plugin names in `needs`, bound to it. */
export function capabilitiesFor(
  plugin: Plugin,
  rules: InProcessEgressRules,
  log: Log,
  grants: Grants = {},
): Partial<Capabilities> {
  const all: Partial<Capabilities> = {
    ...grants,
    log: (message, fields) => log.info(message, { plugin: plugin.id, ...fields }),
    fetch: boundFetch(plugin, rules),
    tcp: openTcp(plugin.id, rules.servers),
    throttle: ownThrottle(plugin, grants.throttle ?? inMemoryThrottle()),
  };
  return Object.fromEntries(plugin.needs.map((need) => [need, all[need]])) as Partial<Capabilities>;
}

/** A plugin cannot delay the accounts of another. */
const ownThrottle = ({ id }: Plugin, throttle: SharedThrottle): SharedThrottle => ({
  reserve: (key, interval) => throttle.reserve(`${id}/${key}`, interval),
  block: (key, ms) => throttle.block(`${id}/${key}`, ms),
});

/**
 * `fetch` that reaches only the declared hosts and those of the plugin's connections, and follows redirects only to them. The
 * response of a temporary redirect to another host is returned, because it is probably a proxy's to its login page: the plugin
 * knows that its platform is unavailable.
 */
function boundFetch(plugin: Plugin, { fetch, hosts, userUrls }: InProcessEgressRules): typeof globalThis.fetch {
  const allowedFetch = (url: URL) => {
    if (plugin.hosts?.includes(url.host) || hosts().includes(url.host)) return fetch;
    return userUrls?.hosts().includes(url.host) ? guardFetch(userUrls.fetch, plugin) : null;
  };
  const fetchFor = (url: URL) => {
    const allowed = allowedFetch(url);
    if (allowed) return allowed;
    throw new PluginError("failed", `The plugin ${plugin.id} cannot reach ${url.host}, which is not one of its hosts.`);
  };
  return async (input, init) => {
    let url = new URL(input instanceof Request ? input.url : input);
    let headers = init?.headers;
    for (let hop = 0; ; hop++) {
      const requestInit = { ...init, ...(headers && { headers }), redirect: "manual" as const };
      const response = await fetchFor(url)(hop === 0 ? input : url, requestInit);
      const location = headerOf(response, "location");
      const isRead = (init?.method ?? "GET") === "GET";
      const follow = redirects.includes(response.status) && isRead && hop < 5;
      if (!follow || !location || !URL.canParse(location, url)) return response;
      const next = new URL(location, url);
      if (temporaryRedirects.includes(response.status) && !allowedFetch(next)) return response;
      await response.body?.cancel();
      // Credentials are sent only to the server for which they were entered.
      if (next.origin !== url.origin) headers = withoutCredentials(headers);
      url = next;
    }
  };
}

function withoutCredentials(init: HeadersInit | undefined): HeadersInit {
  const headers = new Headers(init);
  for (const name of ["authorization", "cookie", "private-token", "x-api-key"]) headers.delete(name);
  return headers;
}

/** If the guard refuses an address, the plugin's call fails with an ordinary error. */
const guardFetch =
  (fetch: typeof globalThis.fetch, plugin: Plugin): typeof globalThis.fetch =>
  async (input, init) => {
    try {
      return await fetch(input, init);
    } catch (error) {
      if (error instanceof Problem) throw new PluginError("failed", `${plugin.id}: ${error.message}`, { cause: error });
      throw error;
    }
  };
