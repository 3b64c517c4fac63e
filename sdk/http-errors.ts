import type { RateLimit } from "./account-report.ts";
import { PluginError, type PluginErrorCode, type PluginErrorShape } from "./errors.ts";
import { isPlaceholder } from "./placeholders.ts";

const codes: Readonly<Record<number, PluginErrorCode>> = {
  400: "invalid_input",
  401: "unauthorized",
  403: "unauthorized",
  404: "not_found",
  405: "failed",
  408: "unavailable",
  409: "conflict",
  410: "not_found",
  413: "invalid_input",
  422: "invalid_input",
  429: "rate_limited",
};

/** Creates the `PluginError` for an HTTP error response. `reason` is its message. */
export function statusError(
  platform: string,
  requestLine: string,
  status: number,
  headers: Headers,
  reason: string,
): PluginError {
  const message = `${platform} answered ${status} to ${requestLine}${reason === "" ? "" : `: ${reason}`}`;
  const wait = retryAfterMs(headers);
  const limited = status === 429 || (status === 403 && wait !== null);
  const code = limited ? "rate_limited" : status >= 500 ? "unavailable" : (codes[status] ?? "failed");
  const hasWait = wait !== null && (limited || status === 503);
  return new PluginError(code, message, hasWait ? { status, retry_after_ms: wait } : { status });
}

/**
 * Creates the `PluginError` for a temporary redirection out of the API, such as a proxy's to its login page; `null` for any other
 * response. The API is unavailable until someone renews the session. `base` is the API's base URL.
 */
export function redirectError(
  platform: string,
  requestLine: string,
  { status, headers }: Pick<Response, "status" | "headers">,
  base: string,
): PluginError | null {
  const location = headers.get("location");
  if (![302, 303, 307].includes(status) || location === null || !URL.canParse(location, base)) return null;
  const [api, target] = [new URL(base), new URL(location, base)];
  const folder = (pathname: string) => `${pathname.replace(/\/+$/, "")}/`;
  if (target.host === api.host && folder(target.pathname).startsWith(folder(api.pathname))) return null;
  const message = `${platform} answered ${status} to ${requestLine}: it redirects to ${target.host}, probably to a login page`;
  return new PluginError("unavailable", message, { status });
}

/** Creates the `PluginError` for an error of `fetch`. Errors of the host keep their code; all others are connection failures. */
export function fetchError(platform: string, requestLine: string, error: unknown, secrets: readonly string[]): PluginError {
  for (const candidate of [error, (error as { cause?: unknown } | null)?.cause]) {
    if (!(candidate instanceof Error) || candidate.name !== "PluginError") continue;
    const { code, message, retryable, retry_after_ms } = candidate as Error & PluginErrorShape;
    return new PluginError(code, message, { retryable, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) });
  }
  const cause = (error as { cause?: unknown } | null)?.cause;
  const reason = [error, cause].flatMap((one) => (one instanceof Error ? one.message : [])).join(": ");
  return new PluginError("unavailable", `${platform} could not be reached for ${requestLine}: ${redact(reason, secrets)}`);
}

/**
 * Milliseconds that a response asks to wait: `Retry-After` in seconds or as a date, or the reset of an exhausted rate limit;
 * `null` if there is neither.
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number | null {
  const after = headers.get("retry-after")?.trim() ?? "";
  const seconds = after === "" ? Number.NaN : Number(after);
  if (Number.isFinite(seconds)) return Math.ceil(Math.min(Math.max(0, seconds) * 1000, Number.MAX_SAFE_INTEGER));
  const date = after === "" ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  const left = headers.get("ratelimit-remaining") ?? headers.get("x-ratelimit-remaining");
  const reset = (headers.get("ratelimit-reset") ?? headers.get("x-ratelimit-reset"))?.trim();
  if (left?.trim() !== "0" || !reset) return null;
  const when = /^\d{9,11}$/.test(reset) ? Number(reset) * 1000 : Date.parse(reset);
  // Add one second, because the limit ends after the given second.
  return Number.isNaN(when) ? null : Math.max(0, when - now) + 1000;
}

/** Reads the rate limit from the headers of a response; `null` if they contain none. */
export function rateLimitOf(headers: Headers, now = Date.now()): RateLimit | null {
  const numberIn = (name: string): number | null => {
    const text = (headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`))?.trim() ?? "";
    return /^\d{1,15}$/.test(text) ? Number(text) : null;
  };
  const remaining = numberIn("remaining");
  if (remaining === null) return null;
  const reset = numberIn("reset");
  // A small number is the seconds from now, a large one the seconds since 1970.
  const at = reset === null ? null : reset < 10 ** 9 ? now + reset * 1000 : reset * 1000;
  return { remaining, limit: numberIn("limit"), resets_at: at === null || at > 8.64e15 ? null : new Date(at).toISOString() };
}

/**
 * Removes secrets from an error message and shortens it to 500 characters: a tracker or proxy may quote the request in its response.
 * Secrets of fewer than 5 characters, and placeholders such as `none`, remain.
 */
export function redact(text: string, secrets: readonly string[]): string {
  // The longest first, because one secret can be the beginning of another.
  const safe = secrets
    .filter((secret) => !isPlaceholder(secret))
    .sort((a, b) => b.length - a.length)
    .reduce((safeText, secret) => safeText.replaceAll(secret, "[redacted]"), text);
  return safe.length > 500 ? `${safe.slice(0, 500)}…` : safe;
}
