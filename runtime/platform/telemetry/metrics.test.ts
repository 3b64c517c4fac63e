import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { labelValue, measureProcess, registry, showChecks } from "./metrics.ts";

const deploy = new URL("../../../examples/deploy/", import.meta.url);

test.each(["alerts.yaml", "dashboard.json"])("%s names only metrics that exist", async (file) => {
  measureProcess();
  const known = new Set(registry.getMetricsAsArray().map(({ name }) => name));
  const named =
    readFileSync(new URL(file, deploy), "utf8").match(/\b(signalbox|gen_ai|nodejs|process)_[a-z0-9_]+(?=[[{)\s])/g) ?? [];
  const bare = [...new Set(named)].filter((name) => !/^gen_ai_(request_model|token_type)$/.test(name));
  const metrics = bare.map((name) => (known.has(name) ? name : name.replace(/_(bucket|count|sum)$/, "")));
  expect(metrics.length).toBeGreaterThan(5);
  expect(metrics.filter((name) => !known.has(name))).toEqual([]);
});

test("a label with outside values has at most 100 of them", () => {
  const values = Array.from({ length: 150 }, (_, n) => labelValue("test", `v${n}`));
  expect(new Set(values).size).toBe(101);
  expect(labelValue("test", "v3")).toBe("v3");
});

const shownChecks = async () => {
  const { values } = (await registry.getSingleMetric("signalbox_check_up")?.get()) ?? { values: [] };
  return Object.fromEntries(values.map(({ labels, value }) => [labels.check, value]));
};

test("a failed check is shown however many others there are", async () => {
  const accounts = Array.from({ length: 250 }, (_, n) => [`connection:Customer (n${n})`, n !== 120] as const);
  const own = [["database", false] as const, ["connection:alpha", false] as const, ["mcp:wiki", true] as const];
  showChecks([...accounts, ...own]);
  const shown = await shownChecks();
  expect(shown).toMatchObject({ "connection:Customer (n7)": 1, "connection:(others)": 0, database: 0, "connection:alpha": 0 });
  expect(shown["mcp:wiki"]).toBe(1);
  expect(Object.keys(shown)).toHaveLength(104);
  // Two knowledge sources can have the same name.
  showChecks([
    ["knowledge:Wiki", false],
    ["knowledge:Wiki", true],
  ]);
  expect(await shownChecks()).toEqual({ "knowledge:Wiki": 0 });
});

test("alerts.yaml: a failed check that stops everything is critical, that of one account, plugin or server is a warning", async () => {
  const rules = readFileSync(new URL("alerts.yaml", deploy), "utf8").split(/^ +- alert: /m);
  const severityOf = (check: string) =>
    rules.flatMap((rule) => {
      const [, equals, pattern] = /signalbox_check_up\{check(=|!)~"(.*)"\}/.exec(rule) ?? [];
      const matches = pattern !== undefined && new RegExp(`^(?:${pattern})$`).test(check) === (equals === "=");
      return matches ? (/severity: (\w+)/.exec(rule)?.[1] ?? []) : [];
    });
  for (const check of ["database", "redis", "model", "workers", "disk", "connection:alpha"])
    expect([check, ...severityOf(check)]).toEqual([check, "critical"]);
  const others = [
    "connection:Customer (a1)",
    "connection:(others)",
    "mcp:model",
    "poll:alpha acme/shop",
    "queue:q",
    "credentials",
  ];
  for (const check of others) expect([check, ...severityOf(check)]).toEqual([check, "warning"]);
  // SignalboxPluginDown shows these.
  expect(severityOf("plugin:gitea")).toEqual([]);
});
