import { type RateLimit, valueAt } from "@signalbox/sdk";

/** Wait after a rate limit error that names no limit. Seconds. */
const unknownWait = 60;
/** The limits that Linear names in headers: requests and complexity of the account, and those of one endpoint. */
const limits = ["requests", "complexity", "endpoint-requests"];

/**
 * `fetch` that turns the errors of a GraphQL response into HTTP statuses. Linear answers 200 or 400 to all of them, and 400 to
 * a rate limit. The client of the SDK can then wait, repeat and report as for every other API.
 */
export const withStatuses =
  (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
  async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 200 && response.status !== 400) return response;
    const text = await response.text();
    const error = firstError(text);
    if (error === null) return new Response(text, { status: response.status, headers: response.headers });
    const status = statusOf(error);
    const headers = new Headers(response.headers);
    if (status === 429 && !headers.has("retry-after")) headers.set("retry-after", String(waitOf(response.headers, Date.now())));
    return new Response(JSON.stringify({ message: messageOf(error) }), { status, headers });
  };

function firstError(text: string): unknown {
  try {
    const errors = valueAt(JSON.parse(text), "errors");
    return Array.isArray(errors) && errors.length > 0 ? errors[0] : null;
  } catch {
    return null;
  }
}

function statusOf(error: unknown): number {
  const code = String(valueAt(error, "extensions", "code") ?? "").toUpperCase();
  const message = messageOf(error);
  if (code === "RATELIMITED") return 429;
  if (code === "AUTHENTICATION_ERROR") return 401;
  if (code === "FORBIDDEN") return 403;
  if (/^entity not found/i.test(message)) return 404;
  if (/already exists|duplicate/i.test(message)) return 409;
  return ["INTERNAL_SERVER_ERROR", "INTERNAL_ERROR", "LOCK_TIMEOUT"].includes(code) ? 502 : 422;
}

function messageOf(error: unknown): string {
  const shown = valueAt(error, "extensions", "userPresentableMessage");
  const message = valueAt(error, "message");
  return [message, shown].filter((part) => typeof part === "string" && part !== "").join(": ") || "unknown error";
}

/** Seconds until the last exhausted limit resets. Linear reports the time in milliseconds. */
export function waitOf(headers: Headers, now: number): number {
  const waits = limits.flatMap((limit) => {
    const left = headers.get(`x-ratelimit-${limit}-remaining`);
    const reset = Number(headers.get(`x-ratelimit-${limit}-reset`) ?? Number.NaN);
    return left !== null && Number(left) <= 0 && Number.isFinite(reset) ? Math.ceil((reset - now) / 1000) : [];
  });
  return Math.min(3600, Math.max(1, ...(waits.length > 0 ? waits : [unknownWait])));
}

/** The limit of requests an hour, as the headers of a response report it. */
export function rateLimitIn(headers: Headers): RateLimit | null {
  const [remaining, limit, reset] = ["remaining", "limit", "reset"].map((name) => {
    const text = headers.get(`x-ratelimit-requests-${name}`) ?? "";
    return /^\d{1,15}$/.test(text) ? Number(text) : null;
  });
  if (remaining == null) return null;
  return { remaining, limit: limit ?? null, resets_at: reset == null ? null : new Date(reset).toISOString() };
}
