import assert from "node:assert/strict";
import { z } from "zod";
import type { Plugin } from "../plugin.ts";
import type { Source } from "../source.ts";
import { fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import { fixedHosts } from "./fixed-hosts.ts";
import type { SourceFixtures, TestCase } from "./fixtures.ts";
import { createCases } from "./source-create.ts";
import { deliveryCases } from "./source-delivery.ts";
import { editCases } from "./source-edits.ts";
import { faultCases } from "./source-faults.ts";
import type { OpenSource } from "./source-harness.ts";
import { parseCases } from "./source-parse.ts";
import { pollCases } from "./source-poll.ts";
import { verifyCases } from "./source-verify.ts";
import { visibilityCases } from "./source-visibility.ts";

/** The conformance suite for sources. Each case sets up the plugin anew and starts its own simulated tracker if it needs one. */
export function testSource(plugin: Plugin, options: SourceFixtures): TestCase[] {
  const hosts = fixedHosts(plugin);
  const fixtures = { ...options, tracker: hosts.started(options.tracker) };
  const name = fixtures.source ?? plugin.id;
  const open: OpenSource = async () => {
    const capabilities = fakeCapabilities({ fetch: hosts.fetch });
    const contributions = await setUpPlugin(plugin, { config: fixtures.config, capabilities });
    const source = contributions.sources?.[name] as Source | undefined;
    assert.ok(
      source,
      `setup must contribute sources.${name}; it has ${Object.keys(contributions.sources ?? {}).join(", ") || "none"}`,
    );
    const settings = (url: string, more: Record<string, unknown> = {}) =>
      source.connection.parse({ ...fixtures.connection(url), ...more });
    const connection = settings("http://127.0.0.1:9", fixtures.signature?.settings);
    const secrets = source.secrets.flatMap((member) =>
      typeof connection[member] === "string" ? (connection[member] as string) : [],
    );
    return { source, settings, secrets, lines: capabilities.lines };
  };
  const cases = [
    { name: "declares its connection", run: () => declares(open, fixtures) },
    ...verifyCases(open, fixtures),
    ...parseCases(open, fixtures),
    ...deliveryCases(open, fixtures),
    ...editCases(open, fixtures),
    ...visibilityCases(open, fixtures),
    ...pollCases(open, fixtures),
    ...createCases(open, fixtures),
    ...faultCases(open, fixtures),
  ];
  return cases.map((one) => hosts.within({ ...one, name: `source ${name}: ${one.name}` }));
}

async function declares(open: OpenSource, fixtures: SourceFixtures): Promise<void> {
  const { source, settings } = await open();
  assert.ok(source.about.trim(), "about must name the platform");
  const members = Object.keys(source.connection.shape);
  for (const member of [...source.secrets, ...source.required]) {
    assert.ok(
      members.includes(member),
      `secrets and required must name members of connection; "${member}" is not one of ${members.join(", ")}`,
    );
  }
  z.toJSONSchema(source.connection, { io: "input" });
  const connection = settings("http://127.0.0.1:9");
  for (const member of source.required)
    assert.ok(connection[member], `fixtures.connection must contain "${member}", which the source requires`);
  const noAddress = fixtures.connection("not an address");
  // A platform with one address for everybody has none in its connections.
  const hasAddress = JSON.stringify(noAddress) !== JSON.stringify(fixtures.connection("http://127.0.0.1:9"));
  for (const wrong of [...(hasAddress ? [noAddress] : []), ...source.secrets.map((member) => ({ [member]: 42 }))]) {
    assert.ok(
      !source.connection.safeParse(wrong).success,
      `connection must reject ${JSON.stringify(Object.keys(wrong))} with invalid values`,
    );
  }
}
