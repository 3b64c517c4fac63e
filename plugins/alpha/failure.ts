import { PluginError, type PluginErrorCode, type PluginErrorShape, valueAt } from "@signalbox/sdk";

const codes: Readonly<Record<number, PluginErrorCode>> = {
  400: "invalid_input",
  401: "unauthorized",
  403: "unauthorized",
  404: "not_found",
  408: "unavailable",
  409: "conflict",
  410: "not_found",
  413: "invalid_input",
  422: "invalid_input",
  429: "rate_limited",
};

/**
 * Converts an error of Octokit, or any other error of a request, to an error that the host understands. `requestLine`: the method
 * and path.
 */
export function failureOf(error: unknown, requestLine: string, secrets: readonly string[]): PluginError {
  const own = refusalOfHost(error);
  if (own) return own;
  const status = valueAt(error, "status");
  const reason = redact(error instanceof Error ? error.message : String(error), secrets);
  const headers = valueAt(error, "response", "headers");
  if (typeof status !== "number" || headers === undefined) {
    return new PluginError("unavailable", `alpha could not be reached for ${requestLine}: ${reason}`);
  }
  const message = `alpha answered ${status} to ${requestLine}: ${reason}`;
  const isLimited = status === 429 || (status === 403 && isLimit(headers, reason));
  const wait = isLimited || status === 503 ? waitOf(headers, reason) : null;
  const code = isLimited ? "rate_limited" : status >= 500 ? "unavailable" : (codes[status] ?? "failed");
  return new PluginError(code, message, wait === null ? { status } : { status, retry_after_ms: wait });
}

/**
 * The host's `fetch` throws its own error if it refuses a request, for example to a host that was not granted. Octokit wraps
 * it.
 */
function refusalOfHost(error: unknown): PluginError | null {
  for (const candidate of [error, valueAt(error, "cause")]) {
    if (!(candidate instanceof Error) || candidate.name !== "PluginError") continue;
    const shape = candidate as Error & PluginErrorShape;
    const { retryable, retry_after_ms } = shape;
    return new PluginError(shape.code, shape.message, { retryable, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) });
  }
  return null;
}

const isLimit = (headers: unknown, message: string): boolean =>
  valueAt(headers, "retry-after") !== undefined ||
  valueAt(headers, "x-ratelimit-remaining") === "0" ||
  /rate limit/i.test(message);

/** Milliseconds to wait; `null` where the platform does not say. */
function waitOf(headers: unknown, message: string): number | null {
  const after = String(valueAt(headers, "retry-after") ?? "").trim();
  if (/^\d{1,9}$/.test(after)) return Number(after) * 1000;
  const date = after === "" ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - Date.now());
  const reset = Number(valueAt(headers, "x-ratelimit-reset"));
  // One second more, because the limit ends after the second that is named.
  if (valueAt(headers, "x-ratelimit-remaining") === "0" && reset > 0) return Math.max(0, reset * 1000 - Date.now()) + 1000;
  return /secondary rate/i.test(message) ? 60_000 : null;
}

/** A tracker, or a proxy before it, may quote the request back. */
function redact(text: string, secrets: readonly string[]): string {
  const safe = secrets.reduce((safeText, secret) => (secret === "" ? safeText : safeText.replaceAll(secret, "[redacted]")), text);
  return safe.length > 500 ? `${safe.slice(0, 500)}…` : safe;
}

/** Returns the data of a GraphQL response. The API answers 200 even if it refuses; then throws a `PluginError`. */
export function dataOf(answer: unknown): unknown {
  const errors = valueAt(answer, "errors");
  if (!Array.isArray(errors) || errors.length === 0) return valueAt(answer, "data");
  const [type, message] = ["type", "message"].map((name) => String(valueAt(errors[0], name) ?? "").slice(0, 300));
  const reason = `alpha refused: ${message}`;
  if (type === "RATE_LIMITED") throw new PluginError("rate_limited", reason, { retry_after_ms: 60_000 });
  if (type === "NOT_FOUND") throw new PluginError("not_found", reason);
  if (type === "FORBIDDEN" || type === "INSUFFICIENT_SCOPES")
    throw new PluginError("unsupported", `the token cannot take part in discussions (${message})`);
  // The API says this when it failed itself, for example because the query took too long.
  if (/^Something went wrong while executing your query/.test(message ?? "")) throw new PluginError("unavailable", reason);
  throw new PluginError(type === "UNPROCESSABLE" ? "invalid_input" : "failed", reason);
}
