import { UsageError } from "../arguments.ts";
import { type Command, helpOf } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import type { PluginBuild } from "./build.ts";
import type { CaseResult, Report } from "./conformance/report.ts";
import { folderOf } from "./folder.ts";

/** The commands for authors, by verb. */
export const author = {
  new: async ({ positionals, texts }, terminal, command) => {
    const { ownershipOf, remainingSteps } = await import("./ownership.ts");
    const { scaffold } = await import("./scaffold.ts");
    const folder = one(positionals, command);
    const ownership = await ownershipOf(texts);
    const result = scaffold({ folder, kind: texts.kind ?? "tools", ...ownership });
    terminal.out(
      `${result.folder}: ${result.files.length} files; edit src/; README.md describes the files. Next:\n\n  cd ${positionals[0]}\n  signalbox plugin test\n\n${remainingSteps(ownership)}`,
    );
    return 0;
  },
  build: async (given, terminal) => {
    const { build } = await import("./build.ts");
    showBuild(await build(folderOf(given), await configOf(folderOf(given))), terminal);
    return 0;
  },
  test: async (given, terminal) => {
    const folder = folderOf(given);
    const { only } = given.texts;
    const { build, readBuilt } = await import("./build.ts");
    const isBuilt = given.flags.has("no-build");
    const pluginBuild = isBuilt ? readBuilt(folder) : await build(folder, await configOf(folder));
    if (!isBuilt) showBuild(pluginBuild, terminal);
    const { runConformance } = await import("./conformance/run.ts");
    const causes = new Map<string, string>();
    const onCase = (result: CaseResult) => terminal.out(lineOf(result, causes));
    const report = await runConformance({
      folder,
      pluginBuild,
      record: given.flags.has("record"),
      nameFilter: only,
      onCase,
    });
    if (report.cases.length === 0)
      throw new UsageError(`--only: no case name contains ${JSON.stringify(only)}; run without --only to list all cases`);
    terminal.out(summaryOf(report, only === undefined));
    return report.failed === 0 ? 0 : 1;
  },
  pack: async (given, terminal) => {
    const { pack } = await import("./pack.ts");
    const { path, files, bytes, integrity } = await pack(folderOf(given));
    terminal.out(`${path}\n  ${size(bytes)}, ${integrity}\n${files.map((file) => `  ${file}\n`).join("")}`);
    return 0;
  },
  dev: async (given, terminal) => {
    const { dev } = await import("./dev.ts");
    return dev(given, terminal);
  },
} satisfies Record<string, Command["run"]>;

/** The settings without which the plugin cannot start. */
async function configOf(folder: string): Promise<Readonly<Record<string, unknown>>> {
  // Checked first, because an error in package.json would otherwise be reported as another error.
  const { readPackage } = await import("./package-file.ts");
  readPackage(folder);
  const { readConformance } = await import("./conformance/read-conformance.ts");
  return (await readConformance(folder))?.config ?? {};
}

function one(positionals: readonly string[], command: Command): string {
  if (positionals.length !== 1) {
    const wrong = positionals.length === 0 ? "" : `unexpected argument ${JSON.stringify(positionals[1])}\n`;
    throw new UsageError(`${wrong}${helpOf(command)}`);
  }
  return positionals[0] as string;
}
const size = (bytes: number): string => (bytes < 10_240 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KiB`);

function showBuild({ manifest, bundle, changedMembers }: PluginBuild, { out }: Terminal): void {
  out(`${manifest.id} ${manifest.version}: ${bundle}, ${size(manifest.bundle.bytes)}, sha256 ${manifest.bundle.sha256}\n`);
  if (changedMembers.length > 0)
    out(`  package.json: updated signalbox.${changedMembers.join(", signalbox.")} to what the plugin declares\n`);
  for (const [kind, all] of Object.entries(manifest.contributes)) {
    const names = Object.keys(all);
    if (names.length > 0) out(`  ${kind}: ${names.join(", ")}\n`);
  }
}

/** Maximum printed length of a failure. The report contains the full text. */
const shownLines = 12;

/** If many cases fail for the same reason, it is printed once. `causes`: the reasons printed so far, each with its case. */
function lineOf({ name, ok, ms, error = "" }: CaseResult, causes: Map<string, string>): string {
  if (ok) return `ok   ${name} (${ms} ms)\n`;
  // The text before the cause differs with each case, because it names what the case expected.
  const cause = error.replace(/^.*: expected the code [^,]+, got \w+: /, "");
  const before = causes.get(cause);
  if (before !== undefined) return `FAIL ${name} (${ms} ms)\n       the same as ${before}\n`;
  causes.set(cause, name);
  const lines = error.trimEnd().split("\n");
  const more = lines.length > shownLines ? [`… ${lines.length - shownLines} more lines in dist/conformance.json`] : [];
  return `FAIL ${name} (${ms} ms)\n${[...lines.slice(0, shownLines), ...more].map((line) => `       ${line}\n`).join("")}`;
}

const summaryOf = ({ passed, failed, warnings }: Report, isWritten: boolean): string =>
  `${warnings.map((one) => `warning: ${one}\n`).join("")}${passed} passed, ${failed} failed${isWritten ? "; full report: dist/conformance.json" : ""}\n`;
