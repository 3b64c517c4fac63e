import type { ConnectRouter } from "@connectrpc/connect";
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Log } from "../../platform/log.ts";
import type { BodyBudget } from "../http/body.ts";

export type Routes = (router: ConnectRouter) => void;

export type NodeHandler = ReturnType<typeof connectNodeAdapter>;

export type NodeRequest = Parameters<NodeHandler>[0];
export type NodeResponse = Parameters<NodeHandler>[1];

/** The address that a request came from; `null` if unknown. */
export type AddressOf = (request: NodeRequest) => string | null;

export interface GrpcOptions {
  /** Created at the first call. */
  readonly routes: () => Promise<Routes>;
  readonly log: Log;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** PEM texts. If absent: h2c, HTTP/2 without TLS. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Whether the service can answer requests, for the health service. */
  readonly ready?: () => boolean | Promise<boolean>;
  /** Default: `null` for every request. */
  readonly addressOf?: AddressOf;
  /** Memory budget for the bodies of calls. Default: no limit. */
  readonly budget?: BodyBudget;
  /** Milliseconds after which a connection that does not answer a ping is closed. */
  readonly keepAliveMs?: number;
  /** Milliseconds after which a connection without a call is closed. Default: five minutes. */
  readonly idleMs?: number;
  /** Milliseconds that a client then has to close it. Default: ten seconds. */
  readonly closeMs?: number;
  /** Maximum number of connections. Default: 1,000. */
  readonly maxSessions?: number;
  readonly healthEveryMs?: number;
}

/** Connects HTTP requests with the routes. */
export interface Calls {
  readonly handle: NodeHandler;
}

export interface ConnectOptions extends Pick<GrpcOptions, "routes" | "log" | "addressOf" | "budget"> {
  readonly fallback: NodeHandler;
  /** Aborted when the server begins to stop: streams end with its reason, other calls finish. */
  readonly stopSignal?: AbortSignal;
}
