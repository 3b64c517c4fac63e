// A README in a package is read outside of this repository, so its links must lead to the tag of the version.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";

/**
 * The README at `path` with absolute links. `root`: the package.json of the repository. Throws if the target of a link does not
 * exist.
 */
export function withAbsoluteLinks(path, { repository, version }) {
  const home = repository.url.replace(/^git\+|\.git$/g, "");
  const from = dirname(path);
  return readFileSync(path, "utf8").replace(/(!?)(\[[^\]]*\]\()([^)\s]+)(\))/g, (whole, image, before, link, after) => {
    if (/^([a-z]+:|#)/.test(link)) return whole;
    const [file, anchor = ""] = link.split(/(?=#)/);
    const target = join(from, file);
    if (!existsSync(target)) throw new Error(`${path} links to ${link}, which does not exist`);
    return `${image}${before}${home}/${image ? "raw" : "blob"}/v${version}/${target}${anchor}${after}`;
  });
}
