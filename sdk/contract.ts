import type { z } from "zod";
import type { KnowledgeConnector } from "./knowledge.ts";
import type { MemoryStore, RedisAccess, SqlAccess, VectorSettings } from "./memory.ts";
import type { Offload, OffloadedFunctions } from "./offload.ts";
import type { ForwardingQueue, Queue } from "./queue.ts";
import type { Route } from "./route.ts";
import type { SharedThrottle } from "./shared-throttle.ts";
import type { Source } from "./source.ts";
import type { Json, MaybePromise } from "./source-event.ts";
import type { TcpAccess } from "./tcp.ts";
import type { Tool } from "./tool.ts";
import type { OperationsAccess, TrackersAccess, UseCase } from "./use-case.ts";

/*
 * The types of all values that the host and a plugin exchange. They are JSON, except bytes (a `Uint8Array` within one
 * process, base64 between two processes) and deadlines (an `AbortSignal`). The same plugin therefore runs in the host's
 * process or in a sandboxed process of its own.
 */

/** What a plugin contributes, by kind and name. */
export interface Contributions {
  readonly sources?: Readonly<Record<string, Source>>;
  readonly tools?: Readonly<Record<string, Tool<z.ZodObject, z.ZodType, unknown>>>;
  readonly memories?: Readonly<Record<string, MemoryStore>>;
  readonly knowledge?: Readonly<Record<string, KnowledgeConnector>>;
  readonly queues?: Readonly<Record<string, Queue | ForwardingQueue>>;
  readonly useCases?: Readonly<Record<string, UseCase>>;
  readonly routes?: Readonly<Record<string, Route>>;
  /** Called once when the service stops, in reverse order of setup. */
  dispose?(): MaybePromise<void>;
}

/** The capabilities of the host. A plugin receives the ones that it lists in `needs`. */
export interface Capabilities {
  /** Writes a structured log line, prefixed with the plugin's id. */
  log(message: string, fields?: Readonly<Record<string, Json>>): void;
  /**
   * `fetch`, restricted to the hosts that the plugin declares and those of its connections. Sends a body at most once (see
   * `fetchOnce`).
   */
  fetch: typeof globalThis.fetch;
  /** TCP connections to the servers that the plugin's settings name, for protocols other than HTTP. */
  tcp: TcpAccess;
  /** Throttles the requests of an account across all replicas, so that they stay within the platform's rate limit. */
  throttle: SharedThrottle;
  /** The database of the host. For built-in plugins only. */
  sql: SqlAccess;
  /** The Redis server of the host. Without one, a plugin that needs it is not loaded. For built-in plugins only. */
  redis: RedisAccess;
  /** The operations of the host that the manifest names. */
  operations: OperationsAccess;
  /** The configured trackers. */
  trackers: TrackersAccess;
  /**
   * Returns the secret that the manifest declares under this name; `null` if the operator has not set it. For a secret with
   * `inject`: a placeholder that the host replaces in requests.
   */
  secret(name: string): Promise<string | null>;
  /**
   * Returns the embeddings of texts, in the same order. Throws a `PluginError` with the code `unavailable` if the embedding model
   * fails.
   */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** Dimension, metric and model of the embeddings of memories. */
  vectors: VectorSettings;
  /** Runs one of the plugin's `offloaded` functions outside the host's event loop, with a deadline. */
  offload: Offload;
}
/** Name of a capability, as listed in `needs`. */
export type CapabilityName = keyof Capabilities;
/** Argument of `setup`: the requested capabilities and the parsed configuration. */
export type SetupContext<C, N extends CapabilityName, F extends OffloadedFunctions = OffloadedFunctions> = Readonly<
  Pick<Capabilities, Exclude<N, "offload">> & { config: C } & ("offload" extends N ? { offload: Offload<F> } : unknown)
>;

/** Argument of `definePlugin`. */
export interface PluginDefinition<
  C extends z.ZodObject,
  N extends CapabilityName,
  F extends OffloadedFunctions = OffloadedFunctions,
> {
  /** Id of lower-case letters, digits and `-`. It is the provider of the plugin's tools. */
  readonly id: string;
  /** Semantic version of the plugin. */
  readonly version: string;
  /** Range of compatible SDK versions, for example `^0.1.0`. `*` is rejected. */
  readonly sdk: string;
  /** One sentence about the plugin. */
  readonly about?: string;
  /** Schema of the plugin's configuration. */
  readonly config: C;
  /** Capabilities that `setup` receives. The operator sees them. */
  readonly needs: readonly N[];
  /** Hosts that `fetch` may reach, in addition to those in the settings of the connections. */
  readonly hosts?: readonly string[];
  /** Functions for the capability `offload`. */
  readonly offloaded?: F;
  setup(context: SetupContext<z.output<C>, N, F>): MaybePromise<Contributions>;
}
