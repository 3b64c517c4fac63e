import { join } from "node:path";
import { defineConfig } from "vitepress";
import { parsePage, slugOf } from "../markdown.ts";
import { markdownFiles, read, routeOf, sections } from "../pages.ts";
import { referencePages } from "../reference.ts";

const dist = join(import.meta.dirname, "../dist");
const pages = new Set(markdownFiles());
const titleOf = (text) => /^# +(.+)$/m.exec(parsePage(text).prose)?.[1]?.replace(/[`*]/g, "") ?? "";
const nouns = [...referencePages()].map(([file, text]) => ({
  text: titleOf(text),
  link: `/${file.replace(/(index)?\.md$/, "")}`,
}));

/** The lamp of the console. Within the page: a file of its own would be asked for at another address under a path. */
const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="#0b6b42"/></svg>',
)}`;

export default defineConfig({
  title: "Signalbox",
  description: "Turns events from issue trackers and code hosts into AI-agent work, and posts the results back.",
  srcDir: "dist/pages",
  outDir: join(dist, "site"),
  cacheDir: join(dist, "cache"),
  cleanUrls: false,
  head: [["link", { rel: "icon", href: icon }]],
  // What is on the site must not depend on the day or the machine that it was built on.
  lastUpdated: false,
  markdown: { anchor: { slugify: slugOf }, theme: { light: "github-light", dark: "github-dark" } },
  // The repository's options name a newer language than VitePress's compiler knows.
  vite: { esbuild: { tsconfigRaw: {} }, build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local" },
    sidebar: sections.map(({ title, pages: listed }) => ({
      text: title,
      collapsed: title === "Contribute",
      items: [
        ...listed.filter((page) => pages.has(page)).map((page) => ({ text: titleOf(read(page)), link: `/${routeOf(page)}` })),
        ...(title === "API" ? [{ text: "API reference", link: "/api/", collapsed: true, items: nouns.slice(1) }] : []),
      ],
    })),
  },
});
