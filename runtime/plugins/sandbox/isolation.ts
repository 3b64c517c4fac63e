import { existsSync } from "node:fs";
import { join } from "node:path";
import { startChild } from "./child.ts";
import { launchOf, type Walls, wallsHere } from "./launch.ts";

const found = new Map<string, Promise<Walls>>();

/**
 * The strongest walls in which a process starts here. Tried once for each folder of bundles: in a container the tools may be
 * there and not be permitted, and another user may not be able to read the service's files.
 */
export function walls(bundle: string, deno?: string): Promise<Walls> {
  const folder = join(bundle, "..");
  const known = found.get(folder) ?? strongest(bundle, deno);
  found.set(folder, known);
  return known;
}

async function strongest(bundle: string, deno?: string): Promise<Walls> {
  const all = wallsHere();
  const choices: Walls[] = [all, { ...all, uid: null }, { ...all, uid: null, setpriv: null }];
  for (const one of choices) if (await starts(bundle, one, deno)) return one;
  return { prlimit: null, setpriv: null, uid: null };
}

/** Whether the boot starts and can read the bundle. It has loaded nothing of the plugin then. */
async function starts(bundle: string, one: Walls, deno?: string): Promise<boolean> {
  if (!existsSync(bundle)) return true;
  let heard = (_: string) => {};
  const spoke = new Promise<boolean>((done) => {
    heard = (line) => done(line.includes('"result":true'));
  });
  const child = startChild({
    launch: launchOf({ deno, bundle, memoryMb: 64, walls: one }),
    memoryMb: 64,
    onLine: (line) => heard(line),
  });
  child.write('{"jsonrpc":"2.0","id":1,"method":"readable"}');
  const late = setTimeout(() => child.kill("it took too long"), 10_000);
  const ended = child.exited.then(() => false);
  const result = await Promise.race([spoke, ended]);
  clearTimeout(late);
  child.kill("it was a trial");
  await child.exited;
  return result;
}
