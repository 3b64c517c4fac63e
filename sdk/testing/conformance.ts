import type { SourceFixtures, ToolFixtures } from "./fixtures.ts";
import type { KnowledgeFixtures } from "./knowledge-suite.ts";
import type { MemoryFixtures } from "./memory-suite.ts";
import type { QueueFixtures } from "./queue-suite.ts";
import type { RouteFixtures } from "./route-suite.ts";
import type { UseCaseFixtures } from "./use-case-suite.ts";

/** A stranger that a plugin's own settings point at. */
export interface TestService {
  /** The plugin's own settings, with the stranger's address among them. */
  readonly config: Record<string, unknown>;
  close(): Promise<void>;
}

/**
 * What `signalbox plugin test` needs to know: `export const conformance: Conformance` in `test/conformance.ts`. What the
 * plugin fetches is answered by the `tracker` of a kind, else from the recordings in `test/http/*.json`; nothing else is reached.
 */
export interface Conformance {
  /** The plugin's own settings. */
  readonly config?: Record<string, unknown>;
  /** Values for the secrets that the manifest names; they must not show up anywhere. */
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

/** One HTTP exchange of `test/http/*.json`: a file holds one, or an array of them. */
export interface Recording {
  /** It changes nothing, although its method is not GET. */
  readonly reads?: boolean;
  readonly request: {
    readonly method: string;
    readonly url: string;
    /** JSON, or text; absent: any body. */
    readonly body?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    /** JSON, or text. */
    readonly body?: unknown;
  };
}
