import { describe, expect, test } from "vitest";
import { cycles, readSource } from "./source.ts";

describe("the reader of sources sees", () => {
  const read = (text: string, path = "runtime/x/y.ts") => readSource(path, text);
  test("imports, of types and of values, static and dynamic", () => {
    const { imports } = read('import type { A } from "../a.ts"; export { b } from "./b.ts"; const c = await import("postgres");');
    expect(imports).toEqual([
      { from: "../a.ts", file: "runtime/a.ts" },
      { from: "./b.ts", file: "runtime/x/b.ts" },
      { from: "postgres", file: null },
    ]);
  });
  test("SQL and the environment", () => {
    expect(read("const a = sql`\n select 1`;\nawait sql.unsafe(text);\nconst b = html`<p>`;").sql).toEqual([1, 3]);
    expect(read("const { a } = process.env;\nDeno.env.get('x');").environment).toEqual([1, 2]);
  });
  test("the fields of log lines", () => {
    expect(read('log.warn("a", {\n  b: 1,\n  c });\nalarm("d", { e });\nother({ f });').logFields).toEqual([
      { name: "b", line: 2 },
      { name: "c", line: 3 },
      { name: "e", line: 4 },
    ]);
  });
  test("long functions, barrels, default exports and cycles", () => {
    const body = "  let x = 1;\n".repeat(50);
    expect(read(`function f() {\n${body}}\n`).functions).toEqual([{ name: "f", lines: 52 }]);
    expect(read(`const g = () => {\n  const h = () => {\n${body}  };\n};\n`).functions[0]).toEqual({ name: "g", lines: 3 });
    expect([read('export * from "./a.ts"; const x = 1;'), read("export const x = 1;")].map((one) => one.isBarrel)).toEqual([
      true,
      false,
    ]);
    expect(read("export default function f() {}").hasDefaultExport).toBe(true);
    const [a, b] = [read('import "./b.ts";', "r/a.ts"), read('import type { A } from "./a.ts";', "r/b.ts")];
    expect(cycles([a, b])).toEqual(["r/a.ts → r/b.ts → r/a.ts"]);
  });
});
