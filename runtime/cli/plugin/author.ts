import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { UsageError } from "../arguments.ts";
import { type Command, helpOf } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import type { PluginBuild } from "./build.ts";
import type { CaseResult, Report } from "./conformance/report.ts";

/** The commands for authors, by verb. */
export const author = {
  new: async (args, terminal, command) => {
    const { ownershipFlags, ownershipOf, remainingSteps } = await import("./ownership.ts");
    const options = { kind: { type: "string" }, ...ownershipFlags } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const { scaffold } = await import("./scaffold.ts");
    const folder = one(positionals, command);
    const ownership = await ownershipOf(values);
    const result = scaffold({ folder, kind: values.kind ?? "tools", ...ownership });
    terminal.out(
      `${result.folder}: ${result.files.length} files; edit src/; README.md describes the files. Next:\n\n  cd ${positionals[0]}\n  signalbox plugin test\n\n${remainingSteps(ownership)}`,
    );
    return 0;
  },
  build: async (args, terminal) => {
    const { build } = await import("./build.ts");
    showBuild(await build(folderOf(args), await configOf(folderOf(args))), terminal);
    return 0;
  },
  test: async (args, terminal) => {
    const options = { record: { type: "boolean" }, "no-build": { type: "boolean" }, only: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const folder = folderOf(positionals);
    const { build, readBuilt } = await import("./build.ts");
    const pluginBuild = values["no-build"] ? readBuilt(folder) : await build(folder, await configOf(folder));
    if (!values["no-build"]) showBuild(pluginBuild, terminal);
    const { runConformance } = await import("./conformance/run.ts");
    const causes = new Map<string, string>();
    const onCase = (result: CaseResult) => terminal.out(lineOf(result, causes));
    const report = await runConformance({
      folder,
      pluginBuild,
      record: values.record === true,
      nameFilter: values.only,
      onCase,
    });
    if (report.cases.length === 0)
      throw new UsageError(`--only: no case name contains ${JSON.stringify(values.only)}; run without --only to list all cases`);
    terminal.out(summaryOf(report, values.only === undefined));
    return report.failed === 0 ? 0 : 1;
  },
  pack: async (args, terminal) => {
    const { pack } = await import("./pack.ts");
    const { path, files, bytes, integrity } = await pack(folderOf(args));
    terminal.out(`${path}\n  ${size(bytes)}, ${integrity}\n${files.map((file) => `  ${file}\n`).join("")}`);
    return 0;
  },
  dev: async (args, terminal) => {
    const { dev } = await import("./dev.ts");
    return dev(args, terminal);
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

function folderOf(args: readonly string[]): string {
  const flag = args.find((arg) => arg.startsWith("-"));
  if (flag !== undefined || args.length > 1)
    throw new UsageError(
      `unexpected argument ${JSON.stringify(flag ?? args[1])}: the command takes one folder, by default the working folder`,
    );
  return resolve(args[0] ?? ".");
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
