import type { Plugin } from "@signalbox/sdk";
import type { Config } from "../platform/config.ts";
import type { Log } from "../platform/log.ts";
import { leanFetch } from "../platform/network/lean-fetch.ts";
import { createHost } from "../plugins/host.ts";
import { loadBuiltIns } from "../plugins/load.ts";
import { type MemoryResources, storesFrom } from "./prepare.ts";
import type { MemoryStores } from "./stores.ts";

/** The built-in stores without the rest of the service, for the command line. */
export async function openStores(
  { redis, grants }: MemoryResources,
  builtIns: readonly Plugin[],
  config: Config,
  log: Log,
): Promise<MemoryStores> {
  const usable = builtIns.filter(({ needs }) => needs.includes("vectors") && (redis || !needs.includes("redis")));
  const loadedPlugins = await loadBuiltIns({
    builtIns: usable,
    configOf: config.variablesOf,
    hostsOf: () => [],
    fetch: leanFetch(config),
    grants,
    log,
  });
  return storesFrom(createHost(loadedPlugins), redis !== null, config.MEMORY_STORE);
}
