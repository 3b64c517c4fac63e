import { PluginError } from "@signalbox/sdk";
import { type DeclaredContributions, declaredContributions } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { messageOf } from "../../platform/error-text.ts";
import { firstProblem } from "../../platform/issue-text.ts";
import { Refusal, type RefusalCode } from "../admit.ts";
import type { Child } from "./child.ts";
import { limits } from "./limits.ts";
import { type Peer, RemoteError } from "./peer.ts";

/** Major versions of the protocol that this host supports. The process chooses the highest that it supports too. */
const protocols: readonly number[] = [1];

/** The declaration of a bundle; only its shape is checked. */
export interface BundleDeclaration {
  readonly plugin: {
    readonly id: string;
    readonly version: string;
    readonly sdk: string;
    readonly about?: string | undefined;
    readonly needs: readonly string[];
    readonly hosts: readonly string[];
  };
  readonly protocol: number;
  readonly contract: number;
  /** Version of the sdk in the bundle. */
  readonly stamped_sdk: string;
  /** JSON Schema of its own settings. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly contributes: DeclaredContributions;
  /** The functions that are missing in its contributions, for example `sources.linear.verify`. */
  readonly missing: readonly string[];
}

export interface InitializeOptions {
  /** The plugin's name in messages. */
  readonly name: string;
  /** The plugin's settings, or a function that returns them for the id that the plugin declares. */
  readonly config?: Readonly<Record<string, unknown>> | ((id: string) => Readonly<Record<string, unknown>>) | undefined;
  /** Values of the capabilities that need no request to the host: `vectors`, and the names of the trackers. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
}

const shape = z.object({
  protocol: z.int(),
  contract: z.int(),
  stamped_sdk: z.string().max(100),
  plugin: z.object({
    id: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/),
    version: z.string().max(100),
    sdk: z.string().max(100),
    about: z.string().max(10_000).optional(),
    needs: z.array(z.string().max(100)).max(100),
    hosts: z.array(z.string().max(300)).max(1_000).default([]),
  }),
  config: z.looseObject({}),
  contributes: declaredContributions,
  missing: z.array(z.string().max(300)).max(10_000).default([]),
});

/**
 * Sets a process up. Returns the declaration of its plugin. If the plugin cannot run, ends the process and throws a `Refusal`.
 */
export async function initialize(
  { name, config = {}, facts = {} }: InitializeOptions,
  child: Child,
  request: Peer["request"],
): Promise<BundleDeclaration> {
  try {
    const answer = await request(
      "initialize",
      { protocols, config: typeof config === "function" ? null : config, facts },
      { deadlineMs: limits.initializeMs },
    );
    const parsed = shape.safeParse(answer);
    if (!parsed.success) {
      const { path, text } = firstProblem(parsed.error);
      throw new Refusal("BAD_CONTRIBUTION", `${name}: the declaration is not valid: ${path}: ${text}`);
    }
    if (!protocols.includes(parsed.data.protocol))
      throw new Refusal(
        "UNKNOWN_PROTOCOL",
        `The protocol of ${name} must be ${protocols.join(" or ")}; it is ${parsed.data.protocol}.`,
      );
    return parsed.data;
  } catch (error) {
    child.kill("it was refused");
    const { stderr } = await child.whenExited;
    throw refusalOf(name, error, stderr);
  }
}

const bootCodes: readonly string[] = [
  "NOT_A_PLUGIN",
  "UNKNOWN_CONTRACT",
  "UNKNOWN_PROTOCOL",
  "BAD_CONFIG",
  "SETUP_FAILED",
  "NOT_FOUND",
] satisfies RefusalCode[];

function refusalOf(name: string, error: unknown, stderr: string): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof RemoteError) {
    const code = (bootCodes.includes(error.code) ? error.code : "SETUP_FAILED") as RefusalCode;
    return new Refusal(code, error.message, error);
  }
  if (error instanceof PluginError && error.code === "timeout")
    return new Refusal("SETUP_TIMEOUT", `${name}: setup took longer than ${limits.initializeMs} ms.`, error);
  const errorOutput = stderr.trim().slice(-1_000);
  return new Refusal("SETUP_FAILED", `${messageOf(error)}${errorOutput && `; standard error: ${errorOutput}`}`, error);
}
