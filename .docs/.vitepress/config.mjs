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

export default defineConfig({
  title: "Signalbox",
  description: "Turns events from issue trackers and code hosts into AI-agent work, and posts the results back.",
  srcDir: "dist/pages",
  outDir: join(dist, "site"),
  cacheDir: join(dist, "cache"),
  cleanUrls: false,
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
