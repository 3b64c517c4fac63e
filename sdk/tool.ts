import type { z } from "zod";
import type { CallContext } from "./source.ts";
import type { MaybePromise } from "./source-event.ts";

export type ToolEffect = "read" | "write";

/** A tool as `tool` takes it: a write must be idempotent or have `find`. */
export type ToolDeclaration<I extends z.ZodObject, O extends z.ZodType, Settings> = Tool<I, O, Settings> &
  (
    | { readonly effect: "read" }
    | { readonly effect: "write"; readonly idempotent: true }
    | { readonly effect: "write"; readonly find: NonNullable<Tool<I, O, Settings>["find"]> }
  );

/** A function that agents can call. */
export interface Tool<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, Settings = never> {
  /** Description that the model uses to decide whether to call the tool. */
  readonly about: string;
  /** Category in lists of tools, for example `issue_tracker`. */
  readonly category?: string;
  /** `read` changes nothing. A `write` must be `idempotent` or have `find`; otherwise `tool` and the loader refuse it. */
  readonly effect: ToolEffect;
  /** Whether a write can be repeated without further effect, for example one that sets a description. Default: `false`. */
  readonly idempotent?: boolean;
  /**
   * For a write: with `call.private`, only people who can read internal comments can read the result; otherwise the tool throws
   * `unsupported`.
   */
  readonly keeps_private?: boolean;
  /** Each member needs a description, because the model sees only the schema. */
  readonly input: I;
  /** A result is refused if it does not match, or has more than 4 MiB as JSON. */
  readonly output: O;
  run(input: z.output<I>, call: CallContext<Settings>): MaybePromise<z.input<O>>;
  /** For a write that is not idempotent: finds the result of an earlier `run` with the same `call.key`; `null` if there is none. */
  find?(input: z.output<I>, call: CallContext<Settings>): Promise<z.input<O> | null>;
  /** Finds all results of `run` with the same `call.key` at the platform, oldest first. See `Source.findAll`. */
  findAll?(input: z.output<I>, call: CallContext<Settings>): Promise<readonly z.input<O>[]>;
  /** Removes one result of `findAll`. Succeeds if it no longer exists. */
  retract?(input: z.output<I>, output: z.input<O>, call: CallContext<Settings>): Promise<void>;
}
