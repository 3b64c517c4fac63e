import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { registry } from "../../platform/telemetry/metrics.ts";
import { methodNotAllowed } from "./app.ts";
import { type Authenticate, requireUnrestricted } from "./authenticate.ts";
import { keyProofOf } from "./session-cookie.ts";

interface MetricsOptions {
  readonly authenticate: Authenticate;
  /** Callers on this machine need no key. */
  readonly open: boolean;
  /** Updates values that are measured only on request, such as the queue. */
  readonly refresh: () => Promise<void>;
}

const local = /^(::ffff:)?127\.|^::1$/;

/** `GET /metrics` in Prometheus' text format, with a key of the scope `read`. */
export function mountMetrics(app: OpenAPIHono, { authenticate, open, refresh }: MetricsOptions): void {
  app.get("/metrics", async (c) => {
    const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
    // A proxy on this machine forwards requests of callers on other machines.
    const isLocal = local.test(incoming?.socket.remoteAddress ?? "") && c.req.header("x-forwarded-for") === undefined;
    if (!(open && isLocal)) requireUnrestricted(await authenticate(keyProofOf(c), "read"));
    await refresh();
    return c.text(await registry.metrics(), 200, { "content-type": registry.contentType });
  });
  app.all("/metrics", (c) => methodNotAllowed(c, "GET"));
}
