import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../harness/process.ts";
import { type Service, startService } from "../harness/service.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const readme = read("README.md");
const example = "examples/clock/clock.ts";

describe("the README", () => {
  test.each(["README.md", "CONTRIBUTING.md", "sdk/README.md", "test/README.md", "SECURITY.md"])(
    "the links of %s lead somewhere",
    (page) => {
      const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)\)/g)].map(([, path]) =>
        join(root, page, "..", path as string),
      );
      expect(links.filter((path) => !existsSync(path))).toEqual([]);
    },
  );
  test("names only existing commands", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = [...`${readme}${read("CONTRIBUTING.md")}`.matchAll(/npm (?:run )?([a-z:]+)/g)].map(
      ([, name]) => name as string,
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !scripts[name] && !["ci", "create", "i", "packages"].includes(name))).toEqual([]);
  });
  test("its plugin is the one in examples", () => {
    expect(readme).toContain(`\`\`\`ts\n${read(example)}\`\`\``);
  });
});

describe("SECURITY.md", () => {
  const security = read("SECURITY.md");
  const [, top10 = ""] = security.split("## OWASP Top 10");
  const lines = [...top10.matchAll(/^\| (ASI\d\d) [^|]*\|[^|]*\|([^|]*)\|$/gm)];

  test("names only existing test files", () => {
    const files = [...security.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file]) => file as string);
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
  test("has each of the ten risks", () => {
    expect(lines.map(([, risk]) => risk)).toEqual([...Array(9).keys()].map((n) => `ASI0${n + 1}`).concat("ASI10"));
  });
  test.each(lines.map(([, risk = "", tests = ""]) => [risk, tests]))("the tests that it names for %s exist", (_, tests) => {
    const named = [...tests.matchAll(/`([^`]+)`: "([^"]+)"/g)].map(([, file = "", title = ""]) => ({ file, title }));
    expect(named.length).toBeGreaterThan(0);
    for (const { file, title } of named) {
      const titles = [...read(file).matchAll(/\(\s*["`]([^"`\n]+)["`]/g)].map(([, one]) => one as string);
      expect(
        titles.some((one) => one.includes(title)),
        `${file}: ${title}`,
      ).toBe(true);
    }
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
