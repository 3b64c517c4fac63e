import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { renderMermaidSVG } from "beautiful-mermaid";
import { fileAt } from "./links.ts";
import { mapLinks, parsePage } from "./markdown.ts";
import { markdownFiles, read, root, routeOf } from "./pages.ts";
import { referencePages } from "./reference.ts";

export const staged = join(import.meta.dirname, "dist/pages");
const { repository } = JSON.parse(read("package.json")) as { repository: { url: string } };
const online = repository.url.replace(/^git\+/, "").replace(/\.git$/, "");

/** Writes all pages as VitePress reads them: links between pages are routes, links to other files lead to the repository. */
export function stagePages(): number {
  rmSync(staged, { recursive: true, force: true });
  const pages = markdownFiles();
  const known = new Set(pages);
  for (const page of pages)
    write(
      `${fileOf(page)}`,
      withDiagrams(
        page,
        mapLinks(read(page), (target) => linkFrom(page, target, known)),
      ),
    );
  const reference = referencePages();
  for (const [file, text] of reference)
    write(file, text.replace("../schema/gen/openapi.json", `${online}/blob/main/schema/gen/openapi.json`));
  return pages.length + reference.size;
}

const fileOf = (page: string): string => {
  const route = routeOf(page);
  return route === "" || route.endsWith("/") ? `${route}index.md` : `${route}.md`;
};

function linkFrom(page: string, target: string, known: ReadonlySet<string>): string {
  if (/^([a-z][a-z0-9+.-]*:|#)/i.test(target)) return target;
  const [path = "", anchor] = target.split("#");
  const file = fileAt(page, path);
  if (file === null) throw new Error(`${page}: ${target} leads nowhere`);
  if (known.has(file)) return `/${routeOf(file)}${anchor ? `#${anchor}` : ""}`;
  if (!/\.(png|svg|jpg)$/.test(file)) return `${online}/blob/main/${file}${anchor ? `#${anchor}` : ""}`;
  const copy = join(staged, file);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(join(root, file), copy);
  return `/${file}`;
}

/** Each mermaid block becomes a picture beside the page. GitHub draws the blocks itself. */
function withDiagrams(page: string, text: string): string {
  const diagrams = parsePage(text).fences.filter(({ language }) => language === "mermaid");
  return diagrams.reduce((done, { text: source, info }, index) => {
    const file = posix.join(posix.dirname(fileOf(page)), `${posix.basename(fileOf(page), ".md")}-${index + 1}.svg`);
    write(file, drawDiagram(source));
    const about = info || /^ *%% *(.*)/m.exec(source)?.[1] || "Diagram";
    return done.replace(
      `\`\`\`mermaid${info ? ` ${info}` : ""}\n${source}\n\`\`\``,
      `![${about}](./${posix.basename(file)}){.diagram}`,
    );
  }, text);
}

/**
 * A mermaid diagram as an SVG file. It is drawn when the site is built, so that a reader's browser loads nothing for it, and
 * in fonts that every machine has.
 */
function drawDiagram(source: string): string {
  const svg = renderMermaidSVG(source, { bg: "#ffffff", fg: "#27272a" });
  return svg.replace(/@import url\([^)]*\);/g, "").replaceAll("'Inter', ", "");
}

function write(file: string, text: string): void {
  const path = join(staged, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
