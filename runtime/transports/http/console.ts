import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { OpenAPIHono } from "@hono/zod-openapi";
import { problem } from "@signalbox/schema/problem";
import type { Context } from "hono";
import type { Log } from "../../platform/log.ts";
import { methodNotAllowed } from "./app.ts";
import { htmlPolicy } from "./docs.ts";

/** Scripts also may not convert text to markup, except through the sanitizer. */
const policy = `${htmlPolicy}; require-trusted-types-for 'script'; trusted-types dompurify`;
const assets = "/console/assets/";
const types: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

interface Asset {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly packed: Uint8Array<ArrayBuffer>;
}
interface Console {
  readonly page: string;
  readonly assets: ReadonlyMap<string, Asset>;
}
interface ConsoleOptions {
  readonly publicUrl: URL | null;
  readonly version: string;
  readonly log: Log;
}

/** The console: one page for all its addresses, and its files, whose names change with their content. */
export function mountConsole(app: OpenAPIHono, options: ConsoleOptions): void {
  const base = (options.publicUrl?.pathname ?? "/").replace(/\/*$/, "/");
  let opening: Promise<Console> | null = null;
  const open = () => {
    opening ??= openConsole(base).catch((error) => {
      opening = null;
      options.log.error("failed to open the console", { error });
      throw problem("unavailable", "The console could not be opened; the service's log says why.");
    });
    return opening;
  };
  app.get(`${assets}:name`, async (c) => sendAsset(c, (await open()).assets.get(c.req.param("name"))));
  const page = async (c: Context) => sendPage(c, (await open()).page);
  app.get("/", async (c) => (acceptsHtml(c) ? await page(c) : c.json(overview(base, options.version))));
  app.get("/console", page);
  app.get("/console/*", page);
  for (const path of ["/", "/console", "/console/*"]) app.all(path, (c) => methodNotAllowed(c, "GET"));
}

const acceptsHtml = (c: Context): boolean => c.req.header("accept")?.includes("text/html") === true;

/** The response of `/` to a program. */
const overview = (base: string, version: string) => ({
  service: "signalbox",
  version,
  console: `${base}console`,
  reference: `${base}docs`,
  openapi: `${base}openapi.json`,
  health: `${base}health`,
});

function sendPage(c: Context, page: string): Response {
  return c.body(page, 200, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    vary: "accept",
  });
}

function sendAsset(c: Context, asset: Asset | undefined): Response {
  if (!asset) throw problem("not_found", `The console has no file ${c.req.path.slice(0, 200)}. Reload the page.`);
  const packed = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
  return c.body(packed ? asset.packed : asset.bytes, 200, {
    "content-type": asset.type,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
    ...(packed && { "content-encoding": "gzip" }),
  });
}

/** Reads the files from the folder in the package, or builds them from the sources. */
async function openConsole(base: string): Promise<Console> {
  const files = (await readPackaged()) ?? (await (await import("../../console/build.ts")).buildConsole());
  const pack = promisify(gzip);
  const entries = files.map(async ({ name, bytes }): Promise<[string, Asset]> => {
    const own = new Uint8Array(bytes);
    const type = types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    return [name, { type, bytes: own, packed: new Uint8Array(await pack(own, { level: 9 })) }];
  });
  const urlOfAsset = (pattern: RegExp) => `${base.slice(0, -1)}${assets}${files.find(({ name }) => pattern.test(name))?.name}`;
  const page = pageOf(base, {
    script: urlOfAsset(/^main-.*\.js$/),
    style: urlOfAsset(/^style-.*\.css$/),
    icon: urlOfAsset(/^icon-.*\.svg$/),
  });
  return { page, assets: new Map(await Promise.all(entries)) };
}

async function readPackaged() {
  const folder = new URL("./console/", import.meta.url);
  const names = await readdir(folder).catch(() => null);
  if (names === null) return null;
  return Promise.all(names.map(async (name) => ({ name, bytes: await readFile(new URL(name, folder)) })));
}

const escapeAttribute = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

const pageOf = (base: string, { script, style, icon }: Readonly<Record<"script" | "style" | "icon", string>>): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="signalbox-base" content="${escapeAttribute(base)}">
<title>Signalbox</title>
<link rel="icon" href="${escapeAttribute(icon)}">
<link rel="stylesheet" href="${escapeAttribute(style)}">
<script type="module" src="${escapeAttribute(script)}"></script>
</head>
<body>
<div id="app"><noscript>The console needs scripts. The API reference is at <a href="${escapeAttribute(base)}docs">docs</a>.</noscript></div>
</body>
</html>
`;
