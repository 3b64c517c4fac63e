/**
 * The error codes of a plugin. The host handles each differently. `httpClient` chooses the code by the status of the response.
 *
 * - `invalid_input`: the input is wrong, or the platform refused it (400, 413, 422).
 * - `not_configured`: a setting that the call needs is missing.
 * - `unauthorized`: the platform refused the credential, or it may not do this (401, 403).
 * - `not_found`: the object does not exist (404, 410).
 * - `conflict`: the object exists already, or its state does not allow the call (409).
 * - `rate_limited`: too many requests (429); set `retry_after_ms` if the platform says how long to wait.
 * - `unavailable`: the platform cannot be reached or has an error (408, 5xx), or a proxy redirects to its login page.
 * - `timeout`: the platform did not respond in time.
 * - `unsupported`: the platform cannot do this, for example post an internal comment.
 * - `failed`: everything else.
 */
export const pluginErrorCodes = [
  "invalid_input",
  "not_configured",
  "unauthorized",
  "not_found",
  "conflict",
  "rate_limited",
  "unavailable",
  "timeout",
  "unsupported",
  "failed",
] as const;
export type PluginErrorCode = (typeof pluginErrorCodes)[number];

/** The members of a `PluginError` that the host reads. */
export interface PluginErrorShape {
  readonly code: PluginErrorCode;
  readonly message: string;
  /** Whether the same call may succeed if it is repeated. */
  readonly retryable: boolean;
  /** Milliseconds to wait before the call is repeated. Default: the host decides. */
  readonly retry_after_ms?: number;
  /** HTTP status of the platform's response, if there was one. */
  readonly status?: number;
}

/**
 * The error that a plugin throws. The host reads its members and not its class, because an installed plugin has its own copy
 * of the SDK. Any other error is treated as `failed` and is not retried. Default of `retryable`: true for `rate_limited`,
 * `unavailable` and `timeout`.
 */
export class PluginError extends Error implements PluginErrorShape {
  override readonly name = "PluginError";
  readonly code: PluginErrorCode;
  readonly retryable: boolean;
  readonly retry_after_ms?: number;
  readonly status?: number;

  constructor(
    code: PluginErrorCode,
    message: string,
    options: { retryable?: boolean; retry_after_ms?: number; status?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? ["rate_limited", "unavailable", "timeout"].includes(code);
    if (options.retry_after_ms !== undefined) this.retry_after_ms = options.retry_after_ms;
    if (options.status !== undefined) this.status = options.status;
  }
}

/**
 * A handler for `catch` that returns `value` for an error with this code and throws every other one:
 * `client.write(request).catch(ifCode("not_found", null))`.
 */
export function ifCode<T>(code: PluginErrorCode, value: T): (error: unknown) => T {
  return (error) => {
    if ((error as Partial<PluginErrorShape> | null)?.code === code) return value;
    throw error;
  };
}
