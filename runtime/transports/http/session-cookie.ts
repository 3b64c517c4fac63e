import { problem } from "@signalbox/schema/problem";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import type { Proof } from "./authenticate.ts";

export const cookieName = "signalbox_session";

const reads = /^(GET|HEAD|OPTIONS)$/;

/**
 * The credentials of a request: a key, or the cookie of a session. Throws `forbidden` for a write with the cookie by a page of
 * another site.
 */
export function proofOf(c: Context, publicUrl: URL | null): Proof {
  const authorization = c.req.header("authorization");
  // Parsed only if it exists, because most callers send a key.
  if (authorization !== undefined || !c.req.header("cookie")?.includes(cookieName)) return { authorization };
  const session = getCookie(c, cookieName);
  if (session !== undefined && !reads.test(c.req.method)) requireSameOrigin(c, publicUrl);
  return { session };
}

/**
 * Throws `forbidden` unless the request comes from a page of this service. The cookie is SameSite=Strict, but other ports of
 * the same host, and other hosts of the same domain, are the same site.
 */
export function requireSameOrigin(c: Context, publicUrl: URL | null): void {
  const fetchSite = c.req.header("sec-fetch-site");
  const origin = c.req.header("origin");
  const own = [publicUrl?.host, c.req.header("host")];
  const host = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
  if (fetchSite === "same-origin" || (fetchSite === undefined && host !== undefined && own.includes(host))) return;
  throw problem(
    "forbidden",
    "A change with the cookie of the console must come from a page of this service; use an API key instead.",
  );
}
