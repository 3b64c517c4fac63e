import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Fence, parsePage } from "./markdown.ts";
import { markdownFiles, read, root } from "./pages.ts";

const folder = join(import.meta.dirname, "dist/blocks");
/** Written by a generator, from declarations that are type-checked where they are. */
const generated = ["sdk/api-report.md"];

/** What the blocks of a page leave out because the text around them says it. */
const ambient: Readonly<Record<string, string>> = {
  "sdk/README.md": `
    type Conformance = import("@signalbox/sdk/testing").Conformance;
    const definePlugin: typeof import("@signalbox/sdk").definePlugin;
    const z: typeof import("zod").z;
    const id: string, version: string;
    const config: import("zod").ZodObject;
    const needs: [];
    const setup: () => Record<string, never>;
    const client: import("@signalbox/sdk").HttpClient;
    const call: import("@signalbox/sdk").CallContext<unknown>;
    const plugin: import("@signalbox/sdk").Plugin;
    const test: (name: string, run: () => Promise<void>) => void;`,
  "test/harness/README.md": `
    const startService: typeof import("../../../../test/harness/service.ts").startService;
    const issueOpened: typeof import("../../../../test/harness/alpha-payloads.ts").issueOpened;
    const waitForExecutions: typeof import("../../../../test/harness/wait.ts").waitForExecutions;
    const tracker: { readonly url: string };`,
};

/** Code blocks that are wrong: TypeScript that has type errors, JSON and shell commands that cannot be parsed. */
export async function blockProblems(): Promise<string[]> {
  const blocks = markdownFiles().flatMap((page) => parsePage(read(page)).fences.map((fence) => ({ page, fence })));
  return [
    ...blocks.filter(({ fence }) => fence.language === "json").flatMap(({ page, fence }) => jsonProblems(page, fence)),
    ...(await shellProblems(blocks.filter(({ fence }) => ["sh", "bash"].includes(fence.language)))),
    ...(await typeProblems()),
  ];
}

function jsonProblems(page: string, { text, line }: Fence): string[] {
  for (const whole of [text, `{${text}}`])
    try {
      JSON.parse(whole);
      return [];
    } catch {}
  return [`${page}:${line}: this block is not JSON`];
}

const shellProblems = async (blocks: readonly { page: string; fence: Fence }[]): Promise<string[]> => {
  const found = blocks.map(async ({ page, fence: { text, line } }) => {
    try {
      await promisify(execFile)("bash", ["-n", "-c", text]);
      return [];
    } catch (error) {
      return [`${page}:${line}: ${String((error as { stderr: string }).stderr).trim()}`];
    }
  });
  return (await Promise.all(found)).flat();
};

/** The file that a block is: `ts [src/parse.ts]`. Blocks without a name are files of their own. */
const fileNameOf = ({ info }: Fence): string | null => /^\[([\w./-]+)\]$/.exec(info)?.[1] ?? null;

async function typeProblems(): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true });
  const origin = new Map<string, string>();
  for (const page of markdownFiles().filter((one) => !generated.includes(one)))
    for (const fence of parsePage(read(page)).fences) {
      const name = fileNameOf(fence);
      if (!name && !["ts", "tsx"].includes(fence.language)) continue;
      const file = join(page.replace(/\W/g, "-"), name ?? `block-${fence.line}.${fence.language}`);
      write(file, fence.text);
      origin.set(file, `${page}:${fence.line}`);
    }
  for (const [page, text] of Object.entries(ambient))
    write(join(page.replace(/\W/g, "-"), "ambient.d.ts"), `declare global {${text}\n}\nexport {};\n`);
  const options = { rootDir: root, allowImportingTsExtensions: true, noEmit: true, noUnusedLocals: false };
  write(
    "tsconfig.json",
    JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions: options, include: ["*/**/*"], exclude: [] }),
  );
  return compile(origin);
}

async function compile(origin: ReadonlyMap<string, string>): Promise<string[]> {
  try {
    await promisify(execFile)(
      process.execPath,
      [join(root, "node_modules/typescript/bin/tsc"), "-p", folder, "--pretty", "false"],
      {
        cwd: folder,
      },
    );
    return [];
  } catch (error) {
    const said = String((error as { stdout?: string }).stdout || error).trim();
    return said.split("\n").map((line) => {
      const [, file = "", at = ""] = /^(.+?)\((\d+),\d+\)/.exec(line) ?? [];
      return `${origin.get(file) ?? file} (line ${at} of the block): ${line.replace(/^.*?: error/, "error")}`;
    });
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}
