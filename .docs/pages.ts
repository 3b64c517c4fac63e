import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export const root = join(import.meta.dirname, "..");

/** A section of the site: its title, and its pages as paths in the repository, in the order in which they are read. */
export interface Section {
  readonly title: string;
  readonly pages: readonly string[];
}

const guide = (name: string) => `.docs/guides/${name}.md`;
const readmes = (folder: string, names: readonly string[]) => names.map((name) => `${folder}/${name}/README.md`);

/** What a reader meets, in this order. Pages that no section names are found by the search and by links. */
export const sections: readonly Section[] = [
  { title: "Start", pages: ["README.md", guide("start"), guide("concepts"), guide("faq"), guide("comparison")] },
  {
    title: "Connect",
    pages: [
      "plugins/README.md",
      ...connectors(),
      "runtime/llm/README.md",
      ...readmes("runtime", ["integrations", "poll-sources", "webhook-mappings", "memory", "knowledge"]),
    ],
  },
  { title: "Trust", pages: [guide("trust"), "SECURITY.md"] },
  {
    title: "Operate",
    pages: [
      "examples/deploy/README.md",
      "examples/deploy/upkeep.md",
      "examples/deploy/databases.md",
      guide("night"),
      guide("scale"),
      "runtime/console/README.md",
      "schema/gen/configuration.md",
      "CHANGELOG.md",
    ],
  },
  {
    title: "Extend",
    pages: ["sdk/tutorial.md", "sdk/README.md", "sdk/api-report.md", "runtime/cli/plugin/README.md", "examples/README.md"],
  },
  {
    title: "Agents over gRPC",
    pages: ["runtime/gateway/README.md", ...readmes("examples", ["agent-python", "agent-typescript"])],
  },
  { title: "API", pages: ["examples/openapi-client/README.md", "runtime/transports/mcp/README.md"] },
  { title: "Contribute", pages: ["CONTRIBUTING.md", "runtime/README.md", "schema/README.md", "test/README.md"] },
];

/** Built-in plugins with a page of their own, the trackers of the first release before the others. */
function connectors(): string[] {
  const first = ["alpha", "beta", "gamma", "delta"];
  const names = readdirSync(join(root, "plugins"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const others = names.map(({ name }) => name).filter((name) => !first.includes(name));
  const pages = new Set(markdownFiles());
  return readmes("plugins", [...first, ...others]).filter((page) => pages.has(page));
}

/** All Markdown files of the repository but the templates of plugins, whose pages are those of their authors. */
export function markdownFiles(): string[] {
  const found: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (/^(node_modules|dist|data|coverage|templates|\.git)$/.test(entry.name) || path === "test/bench/results") continue;
      if (entry.isDirectory()) walk(path);
      else if (path.endsWith(".md")) found.push(path);
    }
  };
  walk(".");
  return found.sort();
}

export const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** Where a page is on the site, without an extension: `runtime/memory/` for `runtime/memory/README.md`. */
export const routeOf = (page: string): string =>
  page
    .replace(/^\.docs\//, "")
    .replace(/^schema\/gen\//, "")
    .replace(/(^|\/)README\.md$/, "$1")
    .replace(/\.md$/, "")
    .replace(/^[A-Z]+$/, (name) => name.toLowerCase());
