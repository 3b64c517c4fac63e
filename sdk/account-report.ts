/** What a platform says in its responses about the requests that are left to an account. */
export interface RateLimit {
  /** Requests that are left. */
  readonly remaining: number;
  /** Requests of a whole period; `null` if the platform does not say. */
  readonly limit: number | null;
  /** When the limit is full again, ISO 8601; `null` if the platform does not say. */
  readonly resets_at: string | null;
}

/** What `Source.check` learned about an account. What the platform does not say is `null` or absent. */
export interface AccountReport {
  /** Whether the credential may write comments. */
  readonly may_write?: boolean | null;
  readonly rate_limit?: RateLimit | null;
}
