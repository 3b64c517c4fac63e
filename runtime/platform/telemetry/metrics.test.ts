import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { labelValue, measureProcess, registry } from "./metrics.ts";

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
