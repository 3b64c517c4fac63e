import type { HttpBindings } from "@hono/node-server";
import { problem } from "@signalbox/schema/problem";
import type { Context } from "hono";
import { getCookie } from "hono/cookie";
import { clientAddress } from "../../platform/network/client-address.ts";
import type { Networks } from "../../platform/network/networks.ts";
import type { Proof } from "./authenticate.ts";

declare module "hono" {
  interface ContextVariableMap {
    /** Set for each request; absent in an app without proxies. */
    trustedProxies?: Networks | undefined;
  }
}

export const cookieName = "signalbox_session";

const reads = /^(GET|HEAD|OPTIONS)$/;

/**
 * The credentials of a request: a key, or the cookie of a session. Throws `forbidden` for a write with the cookie by a page of
 * another site.
 */
export function proofOf(c: Context, publicUrl: URL | null): Proof {
  const proof = keyProofOf(c);
  // Parsed only if it exists, because most callers send a key.
  if (proof.authorization !== undefined || !c.req.header("cookie")?.includes(cookieName)) return proof;
  const session = getCookie(c, cookieName);
  if (session !== undefined && !reads.test(c.req.method)) requireSameOrigin(c, publicUrl);
  const { address } = proof;
  return address ? { session, address } : { session };
}

/** The credentials of a request that cannot have a session. */
export const keyProofOf = (c: Context, authorization = c.req.header("authorization")): Proof => ({
  authorization,
  address: () => {
    const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
    return clientAddress(incoming?.socket.remoteAddress, c.req.header("x-forwarded-for"), c.get("trustedProxies"));
  },
});

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
