import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { asJson, onOneLine } from "./output.ts";
import { run } from "./run.ts";

test("text of a plugin neither controls the terminal nor looks like another line", () => {
  const text = "a\nb\u001b[2J\u009b31m\u202edcba\u2028c";
  expect(onOneLine({ text })).toBe('{"text":"a\\nb\\u001b[2J\\u009b31m\\u202edcba\\u2028c"}');
  expect(JSON.parse(onOneLine({ text }))).toEqual({ text });
  expect(JSON.parse(asJson({ text }))).toEqual({ text });
  expect(asJson({ text })).not.toContain("\u009b");
});

test("nor does the content of its package, if it is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-output-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ signalbox: { manifest: "\u001b[2J\u009b31m" } }));
    const said: string[] = [];
    const terminal = {
      out: () => {},
      err: (text: string) => void said.push(text),
      read: async () => "",
      interactive: false,
      columns: 80,
    };
    expect(await run(["plugin", "install", folder], terminal)).toBe(1);
    expect(said.join("")).toMatch(/^BAD_MANIFEST: .*\n$/);
    expect(said.join("").replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
