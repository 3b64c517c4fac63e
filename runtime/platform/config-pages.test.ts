import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clientVariables, readConfig, variables } from "./config.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");
const readme = read("README.md");

describe("the README", () => {
  test("names only existing variables", () => {
    const named = readme.match(/\b(?:LLM|ALPHA|BETA|GAMMA|DELTA|API|DATABASE|TRACKER|SIGNALBOX|EXECUTION)_[A-Z_]+\b/g) ?? [];
    const known = { ...variables, ...clientVariables };
    expect(named.filter((name) => !Object.hasOwn(known, name))).toEqual([]);
  });
});

describe(".env.example and compose.yaml", () => {
  const lines = [...read(".env.example").matchAll(/^#?([A-Z_]+)=(.*)$/gm)].map(
    ([, name, value]) => [name, value] as [string, string],
  );

  test("every variable is one that the service reads, once, and commented out", () => {
    expect(lines.map(([name]) => name).filter((name) => !Object.hasOwn(variables, name))).toEqual([]);
    expect(new Set(lines.map(([name]) => name)).size).toBe(lines.length);
    expect(read(".env.example")).not.toMatch(/^[A-Z]/m);
  });
  test("every tracker's variables are there", () => {
    const trackers = Object.keys(variables).filter((name) => /^(ALPHA|BETA|GAMMA|DELTA)_/.test(name));
    expect(trackers.filter((name) => !lines.some(([known]) => known === name))).toEqual([]);
  });
  test("the values that it shows are valid", () => {
    expect(() => readConfig(Object.fromEntries(lines), "/nonexistent")).not.toThrow();
  });
  test("compose sets only variables that the service reads", () => {
    const block = /signalbox:[\s\S]*?environment:\n((?: {6}.*\n)+)/.exec(read("compose.yaml"))?.[1] ?? "";
    const names = [...block.matchAll(/^ {6}([A-Z_]+):/gm)].map(([, name]) => name as string);
    expect(names.length).toBeGreaterThan(3);
    expect(names.filter((name) => !Object.hasOwn(variables, name))).toEqual([]);
  });
});
