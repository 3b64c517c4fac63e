import { readFile } from "node:fs/promises";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { methodNotAllowed } from "./app.ts";

/** No content from other hosts, no inline scripts or styles, no frames. */
export const htmlPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const files = [
  { path: "/docs", file: "index.html", type: "text/html; charset=utf-8" },
  { path: "/docs/page.js", file: "page.js", type: "text/javascript; charset=utf-8" },
  { path: "/docs/page.css", file: "page.css", type: "text/css; charset=utf-8" },
] as const;

/**
 * The API reference in a browser, generated from `/openapi.json`. Its files are part of the service, so it works without a
 * network.
 */
export function mountDocs(app: OpenAPIHono): void {
  for (const { path, file, type } of files) {
    app.get(path, async (c) => {
      const bytes = await readFile(new URL(`./docs/${file}`, import.meta.url));
      return c.body(bytes, 200, { "content-type": type, "content-security-policy": htmlPolicy, "cache-control": "no-cache" });
    });
    app.all(path, (c) => methodNotAllowed(c, "GET"));
  }
}
