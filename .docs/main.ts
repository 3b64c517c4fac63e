// `npm run docs` checks the documentation and builds the site in .docs/dist/site; with --check it only checks, and with --serve it
// shows the site and rebuilds it at every save of a staged page.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, createServer } from "vitepress";
import { blockProblems } from "./blocks.ts";
import { unknownNames } from "./commands.ts";
import { missingFiles } from "./files.ts";
import { brokenLinks } from "./links.ts";
import { stagePages } from "./stage.ts";

/** What a browser would load from another host. Links that people follow are fine. */
const loadsFromElsewhere = (text: string): string[] =>
  [
    ...text.matchAll(
      /<(?:script|img|source|iframe)\b[^>]*\bsrc="(https?:[^"]+)"|<link\b[^>]*\bhref="(https?:[^"]+)"|url\(["']?(https?:[^)"']+)/g,
    ),
  ].map(([, a, b, c]) => a ?? b ?? c ?? "");

const { check = false, serve = false } = parseArgs({
  options: { check: { type: "boolean" }, serve: { type: "boolean" } },
}).values;
const folder = import.meta.dirname;

const problems = [...brokenLinks(), ...missingFiles(), ...unknownNames(), ...(await blockProblems())];
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else if (check) console.log("The documentation is consistent: links, files, commands, operations, settings and code blocks.");
else {
  const count = stagePages();
  if (serve) (await (await createServer(folder)).listen()).printUrls();
  else await buildSite(count);
}

async function buildSite(count: number): Promise<void> {
  await build(folder);
  const site = join(folder, "dist/site");
  const outside = readdirSync(site, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(html|css|svg)$/.test(file))
    .flatMap((file) => loadsFromElsewhere(readFileSync(join(site, file), "utf8")).map((what) => `${file}: loads ${what}`));
  for (const one of outside) console.error(one);
  if (outside.length > 0) process.exitCode = 1;
  else console.log(`${count} pages in .docs/dist/site; open them with any web server.`);
}
