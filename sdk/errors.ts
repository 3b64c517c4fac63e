/** The kinds of failure that a host treats differently. */
export const pluginErrorCodes = [
  "invalid_input",
  "not_configured",
  "unauthorized",
  "not_found",
  "conflict",
  "rate_limited",
  "unavailable",
  "timeout",
  "failed",
] as const;
export type PluginErrorCode = (typeof pluginErrorCodes)[number];

export interface PluginErrorShape {
  readonly code: PluginErrorCode;
  readonly message: string;
  /** Trying the very same call again may work. */
  readonly retryable: boolean;
  /** Milliseconds to wait before that; absent: the host decides. */
  readonly retry_after_ms?: number;
}

/**
 * What a plugin throws. The host reads its members, never its class (an installed plugin has its own copy of the sdk);
 * anything else that is thrown counts as `failed`, not retryable.
 */
export class PluginError extends Error implements PluginErrorShape {
  override readonly name = "PluginError";
  readonly code: PluginErrorCode;
  readonly retryable: boolean;
  readonly retry_after_ms?: number;

  constructor(
    code: PluginErrorCode,
    message: string,
    options: { retryable?: boolean; retry_after_ms?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? ["rate_limited", "unavailable", "timeout"].includes(code);
    if (options.retry_after_ms !== undefined) this.retry_after_ms = options.retry_after_ms;
  }
}
