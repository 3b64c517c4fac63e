import { posix } from "node:path";
import { expect, test } from "vitest";
import { files, isTest, textOf } from "./tree.ts";

/** A table of files up to the end of its lines. Its first column names them. */
const fileTable = /^\| File +\|.*\n(?:\|.*\n?)+/m;

const tables = files.flatMap((path) => {
  const [table] = (path.endsWith(".md") && fileTable.exec(textOf(path))) || [];
  return table ? [{ path, table }] : [];
});

test("a README with a table of files names each file of its folder", () => {
  expect(tables.map(({ path }) => path)).toContain("runtime/transports/http/README.md");
  const missing = tables.flatMap(({ path, table }) => {
    const folder = posix.dirname(path);
    const own = files.filter((file) => posix.dirname(file) === folder && /\.tsx?$/.test(file) && !isTest(file));
    const isNamed = (file: string) =>
      table.includes(`\`${posix.basename(file)}\``) || table.includes(`](${posix.basename(file)})`);
    return own.filter((file) => !isNamed(file)).map((file) => `${path} does not name ${file}`);
  });
  expect(missing).toEqual([]);
});
