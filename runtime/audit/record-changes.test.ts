import { readdirSync } from "node:fs";
import type { Operation } from "@signalbox/schema/operation";
import { expect, test } from "vitest";
import { isChange } from "./record-changes.ts";
import { removableTexts } from "./stored-value.ts";

const schema = new URL("../../schema/", import.meta.url);

/** What operators configure themselves: it contains no texts of issues, people and models. */
const configuration = [
  ...["agents", "tasks", "triggers", "sources", "webhook-mappings", "tools", "projects", "keys", "integrations"],
  ...["mcp-servers", "knowledge-sources", "poll-sources", "plugins", "policy", "pauses", "use-cases", "queues.ack"],
  // Its log entry contains a pseudonym of the person whose data was erased.
  "data",
];

test("each operation that changes something is known to contain such texts or not", async () => {
  const modules = readdirSync(schema).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const exported = await Promise.all(modules.map(async (file) => Object.values(await import(new URL(file, schema).href))));
  const operations = exported.flat().filter((one) => typeof (one as { http?: unknown } | null)?.http === "string") as Operation[];
  const changes = operations.filter(isChange).map(({ id }) => id);
  expect(changes.length).toBeGreaterThan(60);
  const isKnown = (id: string) =>
    [...configuration, ...Object.keys(removableTexts)].some((one) => [id, id.split(".")[0]].includes(one));
  expect(changes.filter((id) => !isKnown(id))).toEqual([]);
});
