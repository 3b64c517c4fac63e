import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { methodNotAllowed } from "./app.ts";

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Signalbox API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"><noscript>The reference needs scripts; <a href="/openapi.json">/openapi.json</a> says the same.</noscript></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>`;
const start = `SwaggerUIBundle({ url: "/openapi.json", dom_id: "#reference", deepLinking: true, tagsSorter: "alpha", docExpansion: "list" });`;
const files: Record<string, string> = { "swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript" };

/** The browsable reference: Swagger UI from its own package, so that nothing is fetched from elsewhere. */
export function mountDocs(app: OpenAPIHono): void {
  app.get("/docs", (c) => c.html(page));
  app.get("/docs/start.js", (c) => c.body(start, 200, { "content-type": "text/javascript" }));
  for (const [file, type] of Object.entries(files)) {
    app.get(`/docs/${file}`, async (c) => {
      const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
      return c.body(await readFile(join(folder, file)), 200, { "content-type": type, "cache-control": "max-age=3600" });
    });
  }
  for (const file of ["", "/start.js", ...Object.keys(files).map((name) => `/${name}`)])
    app.all(`/docs${file}`, (c) => methodNotAllowed(c, "GET"));
}
