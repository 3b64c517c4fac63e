import type { OpenAPIHono } from "@hono/zod-openapi";
import { Problem, problem } from "@signalbox/schema/problem";
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { type Actor, inputProblem } from "../../platform/operation.ts";
import { methodNotAllowed } from "./app.ts";
import { type Authenticate, anonymous } from "./authenticate.ts";
import type { BodyLimits } from "./body.ts";
import { readJson } from "./request.ts";
import { cookieName, keyProofOf, proofOf, requireSameOrigin } from "./session-cookie.ts";

/** Logins of the console. */
export interface ConsoleSessions {
  create(key: string): Promise<{ readonly token: string; readonly actor: Actor } | undefined>;
  end(token: string): Promise<void>;
}

interface SessionOptions {
  readonly sessions: ConsoleSessions;
  readonly authenticate: Authenticate;
  readonly publicUrl: URL | null;
  readonly limits: BodyLimits;
  readonly version: string;
  /** How long a session lasts. */
  readonly seconds: number;
}

const credentials = z.object({ key: z.string().min(1).max(500) });

/** The session of the console: `GET` returns it, `POST` creates one with an API key, `DELETE` ends it. */
export function mountSession(app: OpenAPIHono, options: SessionOptions): void {
  const path = "/console/session";
  app.use(path, async (c, next) => {
    c.header("Cache-Control", "no-store");
    await next();
  });
  app.get(path, async (c) => c.json(describeCaller(await callerOf(c, options), options)));
  app.post(path, async (c) => {
    requireSameOrigin(c, options.publicUrl);
    const input = credentials.safeParse(await readJson(c, options.limits));
    if (!input.success) throw inputProblem(input.error);
    const key = input.data.key.trim();
    const session = await options.sessions.create(key);
    if (!session) {
      // Refuses the key and reports it, as for any other request.
      await options.authenticate(keyProofOf(c, `Bearer ${key}`), "read");
      throw problem("unauthenticated", "The API key is not valid, has expired, or was revoked.");
    }
    if (!session.actor.scopes.includes("read"))
      throw problem("forbidden", "This API key is for agents only. Use one with the scope read, write or admin.");
    setCookie(c, cookieName, session.token, { ...attributes(options.publicUrl), maxAge: options.seconds });
    return c.json(describeCaller(session.actor, options));
  });
  app.delete(path, async (c) => {
    requireSameOrigin(c, options.publicUrl);
    const token = getCookie(c, cookieName);
    if (token !== undefined) await options.sessions.end(token);
    deleteCookie(c, cookieName, attributes(options.publicUrl));
    return c.body(null, 204);
  });
  app.all(path, (c) => methodNotAllowed(c, "GET, POST, DELETE"));
}

/** `null` if a key is required and there is no valid session. Throws if this is not known, for example during an outage. */
async function callerOf(c: Context, { authenticate, publicUrl }: SessionOptions): Promise<Actor | null> {
  try {
    return await authenticate({ ...proofOf(c, publicUrl), mayBeMissing: true }, "read");
  } catch (error) {
    if (error instanceof Problem && (error.code === "unauthenticated" || error.code === "forbidden")) return null;
    throw error;
  }
}

const describeCaller = (actor: Actor | null, { version, publicUrl }: SessionOptions) => ({
  state: actor === null ? "login_needed" : actor === anonymous ? "open" : "logged_in",
  name: actor?.name ?? null,
  scopes: actor?.scopes ?? [],
  version,
  // Only for those who may see the console.
  public_url: actor === null ? null : (publicUrl?.href ?? null),
});

const attributes = (publicUrl: URL | null) => ({
  httpOnly: true,
  sameSite: "Strict" as const,
  path: publicUrl?.pathname ?? "/",
  secure: publicUrl?.protocol === "https:",
});
