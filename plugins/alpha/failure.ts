import { PluginError, type PluginErrorCode, redact, retryAfterMs, valueAt } from "@signalbox/sdk";

const codes: Readonly<Record<number, PluginErrorCode>> = {
  // Not `not_found`, with which a removal counts as done.
  301: "conflict",
  307: "conflict",
  308: "conflict",
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

/** An answer with an error status. */
interface Refusal {
  /** Method and path of the request. */
  readonly requestLine: string;
  readonly status: number;
  readonly headers: Headers;
  /** The body. */
  readonly text: string;
}

/** The error that the host understands. `secrets` are redacted, because a tracker or a proxy before it may quote the request back. */
export function failureOf({ requestLine, status, headers, text }: Refusal, secrets: readonly string[]): PluginError {
  const reason = redact(`${messageIn(text)}${redirectionOf(status, headers)}`, secrets);
  const message = `alpha answered ${status} to ${requestLine}: ${reason}`;
  const isLimited = status === 429 || (status === 403 && isLimit(headers, reason));
  const secondaryMs = /secondary rate/i.test(reason) ? 60_000 : null;
  const wait = isLimited || status === 503 ? (retryAfterMs(headers) ?? secondaryMs) : null;
  // Any other redirection is a proxy's, for example to its login page.
  const isUnavailable = status >= 500 || (status < 400 && codes[status] === undefined);
  const code = isLimited ? "rate_limited" : isUnavailable ? "unavailable" : (codes[status] ?? "failed");
  return new PluginError(code, message, wait === null ? { status } : { status, retry_after_ms: wait });
}

/**
 * Where a moved issue or repository is now. A write is not sent there: it could be a repository in which other people read. The
 * host follows the redirections of reads.
 */
function redirectionOf(status: number, headers: Headers): string {
  const location = status < 400 ? headers.get("location") : null;
  return location === null ? "" : ` (it redirects to ${location.slice(0, 300)})`;
}

/** A longer body is not parsed, characters. */
const maxParsed = 65_536;

/** The message of the platform with its details, or the whole text, for example of a proxy's page. */
function messageIn(text: string): string {
  const answer = text.length > maxParsed ? null : jsonOf(text);
  const message = valueAt(answer, "message");
  if (message === undefined) return text;
  const [errors, page] = [valueAt(answer, "errors"), valueAt(answer, "documentation_url")];
  const details = Array.isArray(errors) ? `: ${errors.map((one) => JSON.stringify(one)).join(", ")}` : "";
  return `${message}${details}${page === undefined ? "" : ` - ${page}`}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isLimit = (headers: Headers, message: string): boolean =>
  headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0" || /rate limit/i.test(message);

/** Returns the data of a GraphQL response. The API answers 200 even if it refuses; then throws a `PluginError`. */
export function dataOf(answer: unknown): unknown {
  const errors = valueAt(answer, "errors");
  if (!Array.isArray(errors) || errors.length === 0) return valueAt(answer, "data");
  const [type, message] = ["type", "message"].map((name) => String(valueAt(errors[0], name) ?? "").slice(0, 300));
  const reason = `alpha refused: ${message}`;
  if (type === "RATE_LIMITED") throw new PluginError("rate_limited", reason, { retry_after_ms: 60_000 });
  if (type === "NOT_FOUND") throw new PluginError("not_found", reason);
  if (type === "FORBIDDEN" || type === "INSUFFICIENT_SCOPES")
    throw new PluginError("unsupported", `the token cannot post in discussions (${message})`);
  // The API says this when it failed itself, for example because the query took too long.
  if (/^Something went wrong while executing your query/.test(message ?? "")) throw new PluginError("unavailable", reason);
  throw new PluginError(type === "UNPROCESSABLE" ? "invalid_input" : "failed", reason);
}
