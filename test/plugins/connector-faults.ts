import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestTracker } from "@signalbox/sdk/testing";
import { root, run, runtimeUnderTest } from "../harness/process.ts";

/** Builds a plugin of this repository in a folder of its own, which the caller removes. */
export async function buildPlugin(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `signalbox-${name}-`));
  const source = join(root, "plugins", name);
  cpSync(source, folder, { recursive: true, filter: (path) => !/[\\/](node_modules|dist)$/.test(path) });
  const built = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "build"], env: {}, cwd: folder });
  if ((await built.ended).code !== 0) throw new Error(`plugin build of ${name} failed:\n${built.logs()}`);
  return folder;
}

/** What goes wrong at a platform, in turns. */
const faults = [
  { kind: "status", status: 500, body: '{"message":"internal error"}' },
  { kind: "status", status: 429, headers: { "retry-after": "1" }, body: '{"message":"slow down"}' },
  { kind: "drop", after: true },
  { kind: "status", status: 502, body: "bad gateway", after: true },
] as const;

/** Lets about every second request of a stand-in fail, until what it returns is called. */
export function disturb(server: Pick<TestTracker, "fault" | "heal">): () => Promise<void> {
  const stop = new AbortController();
  const disturbing = (async () => {
    for (let at = 0; !stop.signal.aborted; at++) {
      server.fault({ ...(faults[at % faults.length] as (typeof faults)[number]), times: 1 });
      await sleep(150);
    }
    server.heal();
  })();
  return () => {
    stop.abort();
    return disturbing;
  };
}

export async function inParallel<T>(all: readonly T[], work: (one: T) => Promise<void>, lanes = 8): Promise<void> {
  const left = [...all];
  const lane = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
