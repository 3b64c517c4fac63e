/** The error codes of a plugin. The host handles each differently. */
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
