import type { origin } from "@signalbox/schema/tools";
import type { z } from "zod";
import type { SourceEntry } from "../plugins/host.ts";

export type Origin = z.output<typeof origin>;
export type Parameters = Readonly<Record<string, unknown>>;

/** The input of one run of a tool, in addition to its parameters. */
export interface ToolUse {
  /** Settings of the account in whose name it runs; `{}` for a provider that is not a source. */
  readonly connection: Record<string, unknown>;
  /** Stable over every repetition of this very call. */
  readonly key: string;
  readonly signal: AbortSignal;
  /** See `CallContext.private`. */
  readonly private?: boolean;
}

/** A tool that can be run, from any provider. */
export interface RegisteredTool {
  /** `<provider>.<tool>`, for example `alpha.add_comment`. */
  readonly qualifiedName: string;
  readonly provider: string;
  readonly name: string;
  readonly origin: Origin;
  readonly about: string;
  readonly category: string | null;
  /** JSON Schema of its parameters, as the model sees it. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly effect: "read" | "write";
  /** A write that may be repeated without harm. */
  readonly idempotent: boolean;
  /** A write that can keep what it writes private. */
  readonly keepsPrivate?: boolean;
  /** The source whose connection its calls use. */
  readonly source: SourceEntry | null;
  /** It takes a `project` that defaults to the event's. */
  readonly takesProject: boolean;
  /** Address that it POSTs to; for tools of the database. */
  readonly endpoint: string | null;
  /** The only agent that it is offered to; null: all. */
  readonly agentId: string | null;
  /** It may be offered. A tool of a server that does not answer stays listed, and may be called directly. */
  readonly available: boolean;
  /** Checks parameters and gives what `run` takes. Throws a `BadParameter`. */
  parse(given: Parameters): Parameters;
  run(input: Parameters, use: ToolUse): Promise<unknown>;
  /** For a write that is not idempotent: what a run with the same key left at the other side, or `null`. */
  readonly find: ((input: Parameters, use: ToolUse) => Promise<unknown>) | null;
  /** Everything that runs with the same key left at the other side, oldest first, and how one of it is removed. */
  readonly findAll?: (input: Parameters, use: ToolUse) => Promise<readonly unknown[]>;
  readonly retract?: (input: Parameters, output: unknown, use: ToolUse) => Promise<void>;
}

/** A parameter that is missing or of the wrong kind. */
export class BadParameter extends Error {
  override readonly name = "BadParameter";
  /** Its path, for example `labels.0`; empty where the parameters as a whole are wrong. */
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}
