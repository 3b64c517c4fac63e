// Writes sdk/api-report.md: all types that authors of plugins see, without comments. Run by `npm run generate`. With --check it
// only compares, so that no change of the sdk's public types goes unnoticed.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const report = "sdk/api-report.md";
const folder = mkdtempSync(join(tmpdir(), "signalbox-api-"));
try {
  const flags = ["-p", "tsconfig.types.json", "--outDir", folder, "--removeComments"];
  const { status, stdout } = spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", ...flags], { encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(stdout);
    process.exit(1);
  }
  const text = textOf(join(folder, "sdk"));
  if (!process.argv.includes("--check")) writeFileSync(report, text);
  else if (readFileSync(report, "utf8") !== text) {
    process.stderr.write(
      `${report} is not what the sdk declares: run \`npm run generate\`, look at the difference, and see "Versions" in sdk/README.md.\n`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

function textOf(root) {
  const files = readdirSync(root, { recursive: true }).filter((file) => file.endsWith(".d.ts"));
  const sections = files
    .sort()
    .map((file) => `## ${file.replace(/\.d\.ts$/, "")}\n\n\`\`\`ts\n${readFileSync(join(root, file), "utf8").trim()}\n\`\`\`\n`);
  return `# What @signalbox/sdk declares\n\nMade by \`npm run generate\`. Entries: \`index\`, \`manifest\` and \`testing/index\`.\n\n${sections.join("\n")}`;
}
