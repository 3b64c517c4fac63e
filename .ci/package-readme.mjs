// A README in a package is read outside of this repository, so its links must lead to the tag of the version.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";

/**
 * The README at `path` with absolute links. The second argument is the package.json of the repository. The targets need not exist,
 * because the image is built without the guides, the examples and the tests; `npm run docs` checks them.
 */
export function withAbsoluteLinks(path, { repository, version }) {
  const home = repository.url.replace(/^git\+|\.git$/g, "");
  const from = dirname(path);
  return readFileSync(path, "utf8").replace(/(!?)(\[[^\]]*\]\()([^)\s]+)(\))/g, (whole, image, before, link, after) => {
    if (/^([a-z]+:|#)/.test(link)) return whole;
    const [file, anchor = ""] = link.split(/(?=#)/);
    const target = join(from, file);
    return `${image}${before}${home}/${image ? "raw" : "blob"}/v${version}/${target}${anchor}${after}`;
  });
}
