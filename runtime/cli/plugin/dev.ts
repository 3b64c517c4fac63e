import { watch } from "node:fs";
import { join, relative } from "node:path";
import type { Terminal } from "../run.ts";
import { type Built, build } from "./build.ts";
import { readConformance } from "./conformance/read-conformance.ts";
import { runConformance } from "./conformance/run.ts";
import { PackageFault } from "./fault.ts";

/** A save writes several times. */
const quietMs = 100;

/** Builds, starts and tests the plugin whenever one of its files is saved, until the process is ended. */
export async function dev(folder: string, { out, err }: Terminal): Promise<never> {
  const round = async () => {
    const began = performance.now();
    try {
      const built = await build(folder, (await readConformance(folder))?.config ?? {});
      const failed = await test(folder, built, out);
      out(
        `${built.manifest.id} ${built.manifest.version}: ${failed === 0 ? "good" : `${failed} failed`}, ${Math.round(performance.now() - began)} ms\n`,
      );
    } catch (error) {
      err(`${error instanceof PackageFault ? `${error.code}: ${error.message}` : String(error)}\n`);
    }
  };
  await round();
  for await (const saved of saves(folder)) {
    out(`\n${saved} was saved\n`);
    await round();
  }
  throw new Error("the folder is watched no more");
}

async function test(folder: string, built: Built, out: (text: string) => void): Promise<number> {
  const { failed } = await runConformance({
    ...{ folder, built, record: false },
    onCase: ({ ok, name, error }) => !ok && out(`FAIL ${name}\n${error}\n`),
  });
  return failed;
}

/** Names of saved files, several saves at once as one; what the build itself writes is passed over. */
async function* saves(folder: string): AsyncGenerator<string> {
  let next = Promise.withResolvers<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watcher = watch(folder, { recursive: true }, (_, name) => {
    const path = name === null ? "" : relative(folder, join(folder, name));
    if (/^(dist|node_modules|\.git)([\\/]|$)|^package\.json$|~$|\.tgz$/.test(path)) return;
    clearTimeout(timer);
    timer = setTimeout(() => next.resolve(path), quietMs);
  });
  try {
    for (;;) {
      const saved = await next.promise;
      next = Promise.withResolvers();
      yield saved;
    }
  } finally {
    watcher.close();
  }
}
