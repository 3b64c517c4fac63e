import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle } from "./bundle.ts";

/** A bundle contains only what it uses of zod, however the plugin or one of its packages imports it. */
let folder: string;
let least: number;
const size = async (code: string, file = "plugin.ts"): Promise<number> => {
  writeFileSync(join(folder, file), code);
  return (await bundle(folder, file)).byteLength;
};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-bundle-"));
  least = await size('import * as z from "zod"; export default z.object({});');
  expect(least).toBeGreaterThan(10_000);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['import { z } from "zod";', "z"],
  ["import {z} from 'zod';", "z"],
  ['import { z as z2 } from "zod";', "z2"],
  ['import { z } from "zod/v4";', "z"],
  ['import { z } from "zod/mini";', "z"],
  ['import z from "zod";', "z"],
  ['import { type ZodType, z, } from "zod"; export type Schema = ZodType;', "z"],
  ['import { object, z as $z } from "zod"; export const schema = object({});', "$z"],
  [
    'import {\n  z,\n  type infer as Infer,\n} from "zod";\nexport type Text = Infer<typeof text>; const text = z.object({});',
    "z",
  ],
  ['import { z } from "zod"; import { z as own } from "zod"; export const text = own.object({});', "z"],
])("%s", async (line, name) => {
  expect(await size(`${line} export default ${name}.object({});`)).toBeLessThan(least + 500);
});

test("imports without z are kept", async () => {
  for (const line of ['import type { z } from "zod";', 'import { type z } from "zod";'])
    expect(await size(`${line} export type Schema = z.ZodType; export default {};`)).toBeLessThan(500);
  expect(await size('import { object } from "zod"; export default object({});')).toBeLessThan(least + 500);
});
