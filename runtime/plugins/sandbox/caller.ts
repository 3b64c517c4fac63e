import { type CallContext, PluginError } from "@signalbox/sdk";
import type { DeclaredContributions } from "@signalbox/sdk/manifest";
import type { z } from "zod";
import { issueMessage } from "./boot/errors.ts";

export interface Target {
  readonly kind: keyof DeclaredContributions;
  readonly name: string;
  readonly method: string;
}
export interface CallOptions {
  /** Members of the call object that can be sent as JSON; absent if the function takes none. */
  readonly call?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  /** Stores the state of a use case. */
  readonly save?: (state: never) => Promise<void>;
}
/** Runs one function of a contribution in the process. Rejects with a `PluginError`. */
export type Caller = (target: Target, args: readonly unknown[], options?: CallOptions) => Promise<unknown>;

/** Replaces secrets in settings with placeholders. */
export type Mask = (settings: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/** Calls the process, and checks the shape of its answer. */
export async function callAndCheck<S extends z.ZodType>(
  call: Caller,
  target: Target,
  shape: S,
  args: readonly unknown[],
  options?: CallOptions,
): Promise<z.output<S>> {
  const parsed = shape.safeParse(await call(target, args, options));
  if (parsed.success) return parsed.data;
  const what = `${target.kind}.${target.name}.${target.method}`;
  throw new PluginError("failed", `The answer of ${what} is not valid: ${issueMessage(parsed.error)}`);
}

export type AnyCall = CallContext<Readonly<Record<string, unknown>>>;
export const callOptions = ({ signal, connection, key, private: isPrivate }: AnyCall, mask: Mask): CallOptions => ({
  signal,
  call: { key, connection: mask(connection), ...(isPrivate !== undefined && { private: isPrivate }) },
});
