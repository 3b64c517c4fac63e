import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientVariables, readConfig, variables } from "../../runtime/platform/config.ts";
import { root } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const readme = read("README.md");
const example = "examples/clock/clock.ts";

describe("the README", () => {
  test.each(["README.md", "CONTRIBUTING.md", "sdk/README.md", "test/README.md"])("the links of %s lead somewhere", (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)].map(([, path]) =>
      join(root, page, "..", path as string),
    );
    expect(links.filter((path) => !existsSync(path))).toEqual([]);
  });
  test("names only commands that there are", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...`${readme}${read("CONTRIBUTING.md")}`.matchAll(/npm (?:run )?([a-z:]+)/g)].map(
      ([, name]) => name as string,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !scripts[name] && !["ci", "i", "packages"].includes(name))).toEqual([]);
  });
  test("names only variables that there are", () => {
    const named = readme.match(/\b(?:LLM|ALPHA|BETA|GAMMA|DELTA|API|DATABASE|TRACKER|SIGNALBOX|EXECUTION)_[A-Z_]+\b/g) ?? [];
    const known = { ...variables, ...clientVariables };
    expect(named.filter((name) => !Object.hasOwn(known, name) && name !== "API_KEY")).toEqual([]);
  });
  test("its plugin is the one in examples", () => {
    expect(readme).toContain(`\`\`\`ts\n${read(example)}\`\`\``);
  });
});

describe("the plugin of the README", () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ env: { SIGNALBOX_PLUGINS: join(root, example) } });
  });
  afterAll(() => service?.close());

  test("is loaded, and its tool runs", async () => {
    const { status, body } = await service.post("/api/tools/clock.now/execute", { parameters: {} });
    expect(status).toBe(200);
    expect(body).toMatchObject({ tool: "clock.now", status: "succeeded", result: { iso: expect.stringMatching(/^\d{4}-/) } });
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
