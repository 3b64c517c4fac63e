import { readdirSync } from "node:fs";
import { chat } from "@signalbox/schema/llm";
import type { Operation } from "@signalbox/schema/operation";
import { create } from "@signalbox/schema/webhook-mappings";
import { expect, test } from "vitest";
import { type Context, Events } from "../platform/operation.ts";
import type { ChangeRecorder } from "./change-recorder.ts";
import { isChange, recordChanges } from "./record-changes.ts";
import { removableTexts, requestedValue } from "./stored-value.ts";

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

test("of a request, only what responses show is stored, at every depth", () => {
  const auth = { method: "token", header: "X-A", secret: "s3cret" };
  const requested = requestedValue(create, { source: "alpha", auth, other: "s3cret" });
  expect(requested).toMatchObject({ source: "alpha", auth: { method: "token", header: "X-A" } });
  expect(JSON.stringify(requested)).not.toContain("s3cret");
});

test("a chat that is answered with events has no entry", async () => {
  const calls: string[] = [];
  const called = (name: string) => async () => void calls.push(name);
  const recorder = { begin: called("begin"), discard: called("discard"), record: called("record") };
  const answer = new Events((async function* () {})());
  const [recorded] = recordChanges([{ op: chat, run: async () => answer }], {
    recorder: recorder as unknown as ChangeRecorder,
    pseudonymOf: (name) => name,
  });
  const context = { actor: { name: "anyone" }, signal: new AbortController().signal } as Context;
  expect(await recorded?.run({ agent_id: "a", messages: [] }, context)).toBe(answer);
  expect(calls).toEqual(["begin", "discard"]);
});
