import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "../harness/process.ts";

const folder = join(root, "test");
const starter = join(folder, "harness/service.ts");
const imported = /(?:^|\n)(?:import|export)\s(?!type\b)[^;]*?from\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/g;

/** The test files that start the service, because their imports lead to `harness/service.ts`. They run on each runtime. */
export function blackBoxFiles(): string[] {
  const seen = new Map<string, boolean>([[starter, true]]);
  const leads = (file: string): boolean => {
    const known = seen.get(file);
    if (known !== undefined) return known;
    seen.set(file, false);
    const next = [...readFileSync(file, "utf8").matchAll(imported)].map(([, a, b]) => join(dirname(file), a ?? b ?? ""));
    const found = next.some((one) => one.startsWith(folder) && one.endsWith(".ts") && leads(one));
    seen.set(file, found);
    return found;
  };
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));
  return files
    .map((name) => join(folder, name))
    .filter(leads)
    .map((file) => relative(root, file));
}
