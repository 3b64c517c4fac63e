import { spawn } from "node:child_process";
import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLog } from "./log.ts";

/** The output of a log of this kind. */
function linesOf(pretty: boolean, use: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = [];
  use(createLog({ pretty, write: (line) => lines.push(line) }));
  return lines;
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
const acting = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

describe.each([true, false])("pretty: %s", (pretty) => {
  test.each([
    ["an escape sequence", "\u001b[2J\u001b]0;owned\u0007"],
    ["C1", "\u009b2J \u0085 \u007f"],
    ["new lines", "first\r\n2026-01-01 ERROR forged"],
    ["line separators", "a\u2028b\u2029c"],
    ["bidirectional marks", "\u202egnp.exe\u2066"],
  ])("%s of a payload is escaped in messages, fields, names and objects", (_, text) => {
    for (const fields of [{ title: text }, { [text]: 1 }, { nested: { title: [text] } }, { error: new Error(text) }]) {
      const [line = ""] = linesOf(pretty, (log) => log.info(text, fields));
      const frames = line.split("\n").filter((part) => !/^\s+at /.test(part));
      expect(frames).toHaveLength(1);
      expect(frames[0]).not.toMatch(acting);
      expect(line).toMatch(/\\[urn]/);
    }
  });

  test("no text can control a terminal", () => {
    const text = fc.string({ unit: "binary", maxLength: 50 });
    fc.assert(
      fc.property(text, text, (message, value) => {
        const [line = ""] = linesOf(pretty, (log) => log.warn(message, { value, reason: { value } }));
        expect(line).not.toMatch(acting);
      }),
    );
  });
});

test("JSON stays JSON, with the same texts", () => {
  const text = "a\u001b\u009b\n\u2028ü🦉";
  const [line = ""] = linesOf(false, (log) => log.error("m", { text }));
  expect(JSON.parse(line)).toMatchObject({ level: "error", message: "m", text });
});

test("a stack keeps the lines of its frames", () => {
  const [line = ""] = linesOf(true, (log) => log.error("m", { error: new Error("one\ntwo") }));
  expect(
    line
      .split("\n")
      .slice(1)
      .every((frame) => /^\s+at /.test(frame)),
  ).toBe(true);
  expect(line).toContain("one\\u000atwo");
});

test("lines below the level are not written", () => {
  const lines: string[] = [];
  const log = createLog({ pretty: false, level: "warn", write: (line) => lines.push(line) });
  log.info("started");
  log.with({ event_id: "e" }).warn("slow");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: "warn", message: "slow", event_id: "e" }),
  ]);
});

test("a log without a reader is silent and causes no error", async () => {
  const program = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const log = createLog({ pretty: false });
    let errors = 0;
    process.on("uncaughtException", (error) => { errors++; if (errors < 100) log.error("unhandled", { error }); });
    process.stdin.once("data", () => {
      const lines = setInterval(() => log.info("one more line"), 10);
      setTimeout(() => { clearInterval(lines); process.exit(errors === 0 ? 0 : 1); }, 300);
    });
    process.stdout.write("ready");`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", program], { stdio: "pipe" });
  await once(child.stdout, "data");
  child.stderr.destroy();
  child.stdin.write("go");
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
});
