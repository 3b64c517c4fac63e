/** An error as it is sent to the host. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An error of the host, with the members that a plugin reads. */
export class HostError extends Error {
  override readonly name = "PluginError";
  readonly code: string;
  readonly retryable: boolean;
  readonly retry_after_ms?: number;
  readonly status?: number;

  constructor({ message, data }: WireError) {
    super(message);
    this.code = typeof data?.code === "string" ? data.code : "failed";
    this.retryable = data?.retryable === true;
    if (typeof data?.retry_after_ms === "number") this.retry_after_ms = data.retry_after_ms;
    if (typeof data?.status === "number") this.status = data.status;
  }
}

/** An error that the boot itself reports: why the host cannot load the plugin, or why a call failed. */
export class BootError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const instead: Readonly<Record<string, string>> = {
  env: "It has no environment variables: declare a member of config, or a secret, which operators set.",
  net: 'For HTTP it has the capability "fetch".',
};

/**
 * The message of any thrown value. Omits the sandbox's advice to allow more on Deno's command line, which does not help an
 * author.
 */
export function plainMessage(error: unknown): string {
  const { message } = (error ?? {}) as Partial<Error>;
  const text = typeof message === "string" ? message : String(error);
  return text.replace(
    /Requires (\w+) access(?: to (.+?))?, run again with the --allow-\w+ flag/g,
    (_, what: string, which?: string) =>
      `A plugin cannot use ${what}${which ? ` (${which})` : ""}. ${instead[what] ?? "It has no access to files or processes."}`,
  );
}

interface SchemaIssue {
  readonly path: PropertyKey[];
  readonly message: string;
}
const withArticle = (type = ""): string =>
  /^(?:undefined|null|NaN)$/.test(type) ? type : `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;

/** The first issue of a zod error with its path, on one line; the message of any other error. */
export function issueMessage(error: unknown): string {
  const [issue] = (error as { issues?: SchemaIssue[] } | null)?.issues ?? [];
  if (!issue) return plainMessage(error);
  const [, expected, received] = /^Invalid input: expected (\w+), received (\w+)$/.exec(issue.message) ?? [];
  const path = issue.path.map(String).join(".");
  if (!expected) return path === "" ? issue.message : `${path}: ${issue.message}`;
  const rule = `must be ${withArticle(expected)}`;
  if (path === "") return `it ${rule}; it is ${withArticle(received)}`;
  return received === "undefined" ? `${path}: is required; it ${rule}` : `${path}: ${rule}; it is ${withArticle(received)}`;
}

/**
 * The stack of an error that the plugin did not intend: not a `PluginError`, an aborted signal or an error of the boot, which have
 * a code. Only the lines of the bundle help its author.
 */
export function unexpectedStack(error: unknown, bundle: string): string | null {
  if (!(error instanceof Error) || (error as Partial<HostError>).code !== undefined || error instanceof DOMException) return null;
  const frames = (error.stack ?? "").split("\n").filter((line) => line.includes(bundle));
  const lines = [`${error.name}: ${plainMessage(error)}`.slice(0, 1_000), ...frames.slice(0, 10)];
  return lines.join("\n").replaceAll(bundle, "dist/plugin.js");
}

/** Any thrown value as an error for the host. */
export function toWire(error: unknown): WireError {
  const { code, retryable, retry_after_ms, status } = (error ?? {}) as Partial<HostError>;
  const known = typeof code === "string";
  return {
    code: -32_000,
    message: plainMessage(error).slice(0, 10_000),
    data: {
      ...(known && { code }),
      ...(typeof retryable === "boolean" && { retryable }),
      ...(typeof retry_after_ms === "number" && { retry_after_ms }),
      ...(typeof status === "number" && { status }),
    },
  };
}
