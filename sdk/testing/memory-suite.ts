import assert from "node:assert/strict";
import type { Capabilities } from "../contract.ts";
import type { Plugin } from "../plugin.ts";
import { fakeCapabilities, setUpPlugin, testVectors } from "./fake-host.ts";
import type { TestCase } from "./fixtures.ts";
import { type MemoryHarness, memoryHarness } from "./memory-harness.ts";
import { storageCases } from "./memory-keeping.ts";
import { searchCases } from "./memory-search.ts";

/** Input of `testMemory`. */
export interface MemoryFixtures {
  /** Name of the store. Default: the id of the plugin. */
  readonly store?: string;
  readonly config?: Record<string, unknown>;
  /** Capabilities of the plugin; `vectors` sets the dimension. The store may contain other memories. */
  readonly capabilities?: Partial<Capabilities>;
}

/** The conformance suite for memory stores. `for (const c of testMemory(plugin, fixtures)) test(c.name, c.run);` */
export function testMemory(plugin: Plugin, fixtures: MemoryFixtures = {}): TestCase[] {
  const name = fixtures.store ?? plugin.id;
  const open = async (): Promise<MemoryHarness> => {
    const vectors = fixtures.capabilities?.vectors ?? testVectors(8);
    const capabilities = fakeCapabilities({ ...fixtures.capabilities, vectors });
    const contributions = await setUpPlugin(plugin, { config: fixtures.config, capabilities });
    const again = await setUpPlugin(plugin, { config: fixtures.config, capabilities });
    const backend = contributions.memories?.[name];
    assert.ok(backend, `setup must contribute memories.${name}`);
    return memoryHarness(backend, again.memories?.[name] ?? backend, vectors);
  };
  return [...storageCases(open), ...searchCases(open)].map((one) => ({ ...one, name: `memory store ${name}: ${one.name}` }));
}
