import { Agent, type buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from "undici";
import { isNetwork, parseNetworks } from "./networks.ts";
import type { Proxies } from "./proxies.ts";

/** A proxy cannot be reached, or refuses to connect to a host. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  /** Plugins receive only the code. */
  readonly code: string;
  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** Sends requests through the proxies, except to the hosts and networks in `NO_PROXY`. undici compares only names and addresses. */
export function openProxyAgent(proxies: Proxies, limits: Agent.Options): Dispatcher {
  const entries = (proxies.noProxy ?? "").split(/[,\s]+/).filter((entry) => entry !== "");
  const direct = new Agent(limits);
  if (entries.includes("*")) return direct;
  const networks = parseNetworks(entries.filter(isNetwork));
  const clientFactory = (origin: URL, options: Pool.Options) =>
    new Pool(origin, { ...options, connect: namingProxy(origin, options.connect as buildConnector.connector) });
  // The types do not declare that the options are passed on to the agents of both proxies.
  const options = { ...limits, ...proxies, clientFactory } as EnvHttpProxyAgent.Options;
  return new EnvHttpProxyAgent(options).compose((dispatch) => (request, handler) => {
    const host = new URL(String(request.origin)).hostname.replace(/^\[|\]$/g, "");
    return networks.has(host) ? direct.dispatch(request, handler) : dispatch(request, handler);
  });
}

/** Otherwise the error would look like one of the host that the proxy should connect to. */
const namingProxy =
  (proxy: URL, connect: buildConnector.connector): buildConnector.connector =>
  (target, done) =>
    connect(target, (...[error, socket]) => {
      if (socket) done(null, socket);
      else done(unreachable(proxy.host, error as NodeJS.ErrnoException), null);
    });

const unreachable = (host: string, error: NodeJS.ErrnoException) =>
  new ProxyError(
    `the proxy ${host} could not be reached: ${error.message || error.code}`,
    `PROXY_${error.code ?? "UNREACHABLE"}`,
  );

/** undici reports the refusal of a proxy only in words. */
export function proxyErrorIn(error: unknown): unknown {
  const status = error instanceof Error ? /^Proxy response \((\d+)\) !== 200/.exec(error.message)?.[1] : undefined;
  if (status === undefined) return error;
  const hint = status === "407" ? ": it does not accept the user name and password in its URL, or the URL has none" : "";
  return new ProxyError(`the proxy answered ${status}${hint}`, `PROXY_${status}`);
}
