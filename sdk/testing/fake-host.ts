import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Capabilities, CapabilityName, Contributions } from "../contract.ts";
import { fetchOnce } from "../fetch-once.ts";
import type { DistanceMetric, VectorSettings } from "../memory.ts";
import type { Offload } from "../offload.ts";
import type { Plugin } from "../plugin.ts";
import { inMemoryThrottle } from "../shared-throttle.ts";
import type { CallContext } from "../source.ts";
import type { Json } from "../source-event.ts";

/** Capabilities for tests. */
export interface FakeCapabilities extends Capabilities {
  /** Logged lines, as JSON. */
  readonly lines: string[];
}

/** Creates capabilities for tests. `fetch` sends real requests, to test servers. */
export function fakeCapabilities(overrides: Partial<Capabilities> = {}): FakeCapabilities {
  const lines: string[] = [];
  return {
    lines,
    log: (message: string, fields: Readonly<Record<string, Json>> = {}) =>
      void lines.push(JSON.stringify({ message, ...fields })),
    fetch: fetchOnce((input, init) => globalThis.fetch(input, init)),
    tcp: { connect: () => rejectAbsent("tcp") },
    secret: async () => null,
    embed: async (texts) => texts.map(() => new Array<number>(8).fill(0)),
    throttle: inMemoryThrottle(),
    sql: { query: () => rejectAbsent("sql"), nearest: () => rejectAbsent("sql") },
    redis: { prefix: "test:", call: () => rejectAbsent("redis"), script: () => rejectAbsent("redis") },
    operations: { call: () => rejectAbsent("operations") },
    trackers: {
      configured: () => [],
      createIssue: async () => null,
      closeIssue: async () => false,
      projectId: async (_, name) => name,
    },
    vectors: testVectors(8),
    offload: inProcess,
    ...overrides,
  };
}

/** Placeholder for `offload`. `setUpPlugin` replaces it with one that calls the plugin's functions in this process. */
const inProcess: Offload = () => rejectAbsent("offload");
const offloadIn =
  ({ offloaded = {} }: Plugin): Offload =>
  async (name, ...input) => {
    const run = offloaded[name] as ((...input: unknown[]) => unknown) | undefined;
    if (!run) throw new Error(`offload: the plugin has no offloaded function "${name}"`);
    // Through JSON, as between two threads.
    return JSON.parse(JSON.stringify(await run(...(JSON.parse(JSON.stringify(input)) as unknown[])))) as never;
  };

const rejectAbsent = (name: string): Promise<never> =>
  Promise.reject(new Error(`The capability ${name} is not available in this test; pass it with fakeCapabilities({ ${name} })`));

/** Vector settings for tests. Default metric: cosine. */
export const testVectors = (dimension: number, metric: DistanceMetric = "cosine"): VectorSettings => ({
  dimension,
  metric,
  model: "test",
  type: `vector(${dimension})`,
  operator: metric === "cosine" ? "<=>" : metric === "l2" ? "<->" : "<#>",
});

/** Sets up a plugin as the host does: with its parsed configuration and only the capabilities in `needs`. */
export async function setUpPlugin(
  plugin: Plugin,
  options: { config?: Record<string, unknown> | undefined; capabilities?: Partial<Capabilities> } = {},
): Promise<Contributions> {
  const capabilities = options.capabilities ?? fakeCapabilities();
  const config = plugin.config.parse(options.config ?? {});
  const entries = plugin.needs.map((need: CapabilityName) => {
    assert.ok(
      need in capabilities,
      `needs: there is no capability "${need}"; available are ${Object.keys(capabilities).join(", ")}`,
    );
    return [need, need === "offload" && capabilities.offload === inProcess ? offloadIn(plugin) : capabilities[need]];
  });
  return plugin.setup(Object.freeze({ config, ...Object.fromEntries(entries) }));
}

/** Creates the context of a call. Default: a new key, and a deadline of 10 seconds. */
export function callContext<Settings>(
  connection: Settings,
  options: { key?: string; deadline_ms?: number } = {},
): CallContext<Settings> {
  return { connection, key: options.key ?? randomUUID(), signal: AbortSignal.timeout(options.deadline_ms ?? 10_000) };
}
