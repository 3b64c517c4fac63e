import { existsSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { type Page, parsePage } from "./markdown.ts";
import { markdownFiles, read, root } from "./pages.ts";

const isOutside = (target: string): boolean => /^[a-z][a-z0-9+.-]*:/i.test(target);

/** Links inside the repository that lead nowhere: a file or a heading that there is not. Other hosts are not asked. */
export function brokenLinks(): string[] {
  const pages = new Map<string, Page>(markdownFiles().map((page) => [page, parsePage(read(page))]));
  const broken: string[] = [];
  for (const [page, { links }] of pages)
    for (const { target, line } of links) {
      if (isOutside(target)) continue;
      const [path = "", anchor] = decodeURI(target).split("#");
      const file = fileAt(page, path);
      const said = `${page}:${line}: ${target}`;
      if (file === null) broken.push(`${said}: there is no such file`);
      else if (anchor && file.endsWith(".md") && !pages.get(file)?.anchors.has(anchor))
        broken.push(`${said}: ${file} has no heading with this id`);
    }
  return broken;
}

/** The file that a link leads to; a folder is its README where it has one. */
export function fileAt(page: string, path: string): string | null {
  const file = path === "" ? page : posix.normalize(posix.join(posix.dirname(page), path)).replace(/\/$/, "");
  if (file.startsWith("..") || !existsSync(join(root, file))) return null;
  if (!statSync(join(root, file)).isDirectory()) return file;
  const readme = posix.join(file, "README.md");
  return existsSync(join(root, readme)) ? readme : file;
}
