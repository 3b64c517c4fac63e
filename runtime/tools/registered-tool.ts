import type { origin } from "@signalbox/schema/tools";
import type { z } from "zod";
import type { SourceEntry } from "../plugins/host.ts";

type Origin = z.output<typeof origin>;
export type Parameters = Readonly<Record<string, unknown>>;

/** The input of one run of a tool, in addition to its parameters. */
export interface ToolUse {
  /** Settings of the account with which it runs; `{}` for a provider that is not a source. */
  readonly connection: Record<string, unknown>;
  /** The same for every repetition of this call. */
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
  /** Whether the write may be repeated without harm. */
  readonly idempotent: boolean;
  /** Whether the write can be private. */
  readonly keepsPrivate?: boolean;
  /** The source whose connection its calls use. */
  readonly source: SourceEntry | null;
  /** Whether it has a parameter `project` that defaults to that of the event. */
  readonly takesProject: boolean;
  /** Address to which it sends a POST request; for tools in the database. */
  readonly endpoint: string | null;
  /** The only agent that it is offered to; null: all. */
  readonly agentId: string | null;
  /** Whether it may be offered. A tool of a server that does not respond is still listed, and may be called directly. */
  readonly available: boolean;
  /** Validates parameters and returns the input of `run`. Throws a `BadParameter`. */
  parse(parameters: Parameters): Parameters;
  run(input: Parameters, use: ToolUse): Promise<unknown>;
  /** For a write that is not idempotent: finds the result of an earlier run with the same key, or `null`. */
  readonly find: ((input: Parameters, use: ToolUse) => Promise<unknown>) | null;
  /** All results of runs with the same key, oldest first, and a function that removes one of them. */
  readonly findAll?: (input: Parameters, use: ToolUse) => Promise<readonly unknown[]>;
  readonly retract?: (input: Parameters, output: unknown, use: ToolUse) => Promise<void>;
}

/** A parameter that is missing or of the wrong kind. */
export class BadParameter extends Error {
  override readonly name = "BadParameter";
  /** Its path, for example `labels.0`; empty if the parameters as a whole are invalid. */
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}
