import { chmodSync, statSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { cachedBundle } from "./bundle-cache.ts";

const umask = process.umask();
afterEach(() => void process.umask(umask));

test("a plugin's own user may read its bundle, whatever the umask", () => {
  process.umask(0o077);
  const bytes = new TextEncoder().encode(`export default ${process.pid};\n`);
  const { file } = cachedBundle(bytes);
  expect(statSync(file).mode & 0o777).toBe(0o444);
  chmodSync(file, 0o400);
  expect(cachedBundle(bytes).file).toBe(file);
  expect(statSync(file).mode & 0o777).toBe(0o444);
});
