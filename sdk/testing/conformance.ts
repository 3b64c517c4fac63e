import type { SourceFixtures, ToolFixtures } from "./fixtures.ts";
import type { KnowledgeFixtures } from "./knowledge-suite.ts";
import type { MemoryFixtures } from "./memory-suite.ts";
import type { QueueFixtures } from "./queue-suite.ts";
import type { RouteFixtures } from "./route-suite.ts";
import type { UseCaseFixtures } from "./use-case-suite.ts";

/** A service that the plugin's configuration refers to. */
export interface TestService {
  /** Configuration of the plugin, including the URL of the service. */
  readonly config: Record<string, unknown>;
  close(): Promise<void>;
}

/**
 * Input of `signalbox plugin test`: `export const conformance: Conformance` in `test/conformance.ts`. Requests of the plugin are
 * served by the `tracker` of the fixtures, otherwise from the recordings in `test/http/*.json`. Other hosts cannot be reached.
 */
export interface Conformance {
  /** Configuration of the plugin. */
  readonly config?: Record<string, unknown>;
  /** A value for each secret in the manifest; "" for one that is not set. No value may appear in any output. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** One entry for each tool. */
  readonly tools?: Omit<ToolFixtures, "config" | "secrets">;
  readonly sources?: Readonly<Record<string, Omit<SourceFixtures, "source" | "config">>>;
  readonly memories?: Readonly<
    Record<string, Omit<MemoryFixtures, "store" | "config"> & { readonly start?: () => Promise<TestService> }>
  >;
  readonly knowledge?: Readonly<Record<string, Omit<KnowledgeFixtures, "knowledge" | "config">>>;
  readonly queues?: Readonly<
    Record<string, Omit<QueueFixtures, "queue" | "config" | "start"> & { readonly start?: () => Promise<TestService> }>
  >;
  /** One entry for each route. */
  readonly routes?: RouteFixtures["routes"];
  readonly useCases?: Readonly<Record<string, Omit<UseCaseFixtures, "useCase" | "config">>>;
}

/** A recorded HTTP exchange in `test/http/*.json`. A file contains one or an array of them. */
export interface Recording {
  /** Whether the request only reads, although its method is not GET. */
  readonly reads?: boolean;
  readonly request: {
    readonly method: string;
    readonly url: string;
    /** JSON or text. Default: any body. */
    readonly body?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    /** JSON or text. */
    readonly body?: unknown;
  };
}
