import { posix } from "node:path";
import { files } from "../test/architecture/tree.ts";
import { parsePage } from "./markdown.ts";
import { markdownFiles, read } from "./pages.ts";

/** Files that a build, a command or another repository makes. */
const elsewhere =
  /(^|\/)(dist|gen)\/|^signalbox-plugins\.lock\.json$|^linear\.json$|^package\.json$|^openapi\.json$|shared\/contracts\//;
/** Pages about files of someone else: an author's plugin, or of earlier versions. */
const others = ["CHANGELOG.md", "sdk/tutorial.md", "sdk/README.md"];
const named = /`((?:\.{0,2}[\w-]+\/|\.\.\/)*[\w-][\w.-]*\.(?:ts|mjs|sql|yaml|json|md|proto|py|service))`/g;

/**
 * Files that pages name and that do not exist: from the page's folder, from the top, or in `runtime` or `test`; a bare name
 * anywhere below.
 */
export function missingFiles(): string[] {
  const all = new Set(files);
  return markdownFiles()
    .filter((page) => !others.includes(page))
    .flatMap((page) => {
      const names = [...parsePage(read(page)).prose.matchAll(named)].map(([, name = ""]) => name);
      const folder = posix.dirname(page);
      const exists = (name: string) =>
        [name, posix.join(folder, name), `runtime/${name}`, `test/${name}`].some((path) => all.has(path)) ||
        files.some((path) => path.endsWith(`/${name}`));
      return [...new Set(names)]
        .filter((name) => !elsewhere.test(name) && !exists(name))
        .map((name) => `${page}: there is no file ${name}`);
    });
}
