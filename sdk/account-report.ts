/** Rate limit of an account, as the platform reports it in its responses. */
export interface RateLimit {
  /** Remaining requests. */
  readonly remaining: number;
  /** Requests per period; `null` if the platform does not say. */
  readonly limit: number | null;
  /** When the limit resets, ISO 8601; `null` if the platform does not say. */
  readonly resets_at: string | null;
}

/** Result of `Source.check` for an account. Facts that the platform does not report are `null` or absent. */
export interface AccountReport {
  /** Whether the credential may write comments. */
  readonly may_write?: boolean | null;
  readonly rate_limit?: RateLimit | null;
}
