import { expect, test } from "vitest";
import { missingPlugins, type PluginUses } from "./missing-plugins.ts";

const nothing: PluginUses = { sources: [], webhooks: [], accounts: [], tools: [], plugins: [], refusedPlugins: [], deferred: [] };
const left: PluginUses = {
  ...nothing,
  sources: [
    { id: 1, source: "alpha", event_name: "issues", action: "opened" },
    { id: 14, source: "linear", event_name: "Issue", action: "create" },
    { id: 15, source: "linear", event_name: "Comment", action: null },
    { id: 16, source: "acme", event_name: "deployed", action: null },
  ],
  webhooks: [
    { id: 2, source: "acme", event_type: null, path_pattern: "/webhook/acme" },
    { id: 3, source: "linear", event_type: "Issue", path_pattern: null },
  ],
  accounts: [{ id: "a1", source: "linear", name: "Ours" }],
  tools: [
    { qualified_name: "alpha.add_comment", origin: "builtin", endpoint: null },
    { qualified_name: "acme.deploy", origin: "database", endpoint: "https://acme.example" },
    { qualified_name: "linear.add_comment", origin: "database", endpoint: null },
  ],
  deferred: [{ plugin: "linear", slug: "linear", count: 2, oldest_at: "2026-01-31T10:00:00.000Z" }],
};
const linear = { id: "linear", state: "ready" as const, sources: ["linear"], tools: ["linear.add_comment"] };

test("doctor names the leftovers of a removed plugin, and how to restore or delete each", () => {
  expect(missingPlugins(left)).toEqual([
    "No plugin provides the source linear, so these do nothing: the mapping of Issue/create, the mapping of Comment, the webhook mapping of Issue, the integration Ours. Install its plugin, or run: signalbox sources delete 14, signalbox sources delete 15, signalbox webhook-mappings delete 3, signalbox integrations delete a1",
    "The stored tool linear.add_comment cannot be called: it has no endpoint, and no plugin or MCP server provides it. Install its plugin, or run: signalbox tools delete linear.add_comment",
    "2 webhooks wait at /webhook/linear for the plugin linear, the oldest since 2026-01-31T10:00:00.000Z. Install it with: signalbox plugin install",
  ]);
});

test("doctor names the command that enables or approves the plugin whose source is used", () => {
  const remedies = (state: "approved" | "installed") =>
    missingPlugins({ ...left, plugins: [{ ...linear, state }] }).map((line) => line.slice(line.indexOf(". ") + 2));
  expect(remedies("approved")).toEqual(Array(3).fill("The plugin linear is disabled: signalbox plugin enable linear"));
  expect(remedies("installed")).toEqual(
    Array(3).fill("The plugin linear waits for approval: signalbox plugin permissions linear"),
  );
});

test("doctor says nothing about a plugin that runs or fails: its own check does", () => {
  for (const state of ["ready", "quarantined", "stopped"] as const)
    expect(missingPlugins({ ...left, plugins: [{ ...linear, state }] })).toEqual([]);
  expect(missingPlugins({ ...nothing, sources: left.sources.slice(0, 1) })).toEqual([]);
});

test("doctor suggests to delete nothing that a refused plugin of SIGNALBOX_PLUGINS may provide", () => {
  const lines = missingPlugins({ ...left, refusedPlugins: [{ name: "linear" }] });
  expect(lines.map((line) => line.slice(line.indexOf(". ") + 2))).toEqual(
    Array(2).fill("If it belongs to a plugin that was refused at the start, correct that plugin first: linear"),
  );
});
