import type { Keyring } from "../keys/keyring.ts";
import { exposureOf } from "../platform/network/exposure.ts";
import { createGuard } from "../platform/network/guard.ts";
import { leanFetch } from "../platform/network/lean-fetch.ts";
import { countRequests } from "../platform/telemetry/metrics.ts";
import { fencedFetch } from "../platform/write-fence.ts";
import type { Core } from "./core.ts";

/**
 * Who can reach the service, and which addresses it may contact. Before a write, every `fetch` checks the lease of the execution.
 */
export function openNetwork({ config, log, shutdown }: Core, keyring: Keyring) {
  const exposure = exposureOf(config, keyring.open);
  const guardFor = (loopback: () => boolean) => {
    const guard = createGuard({ allowedNetworks: config.ALLOW_PRIVATE_ADDRESSES, loopback });
    shutdown.add(() => guard.close());
    return { ...guard, fetch: countRequests(fencedFetch(guard.fetch), log) };
  };
  return {
    exposure,
    /**
     * For addresses that users enter. They may name this machine only while no other machine can reach the service and there are
     * no keys.
     */
    guard: guardFor(() => exposure.local && keyring.open),
    /** For third-party plugins: does not depend on API keys. */
    pluginGuard: guardFor(() => false),
    /** For addresses from the environment: not restricted. */
    fetch: countRequests(fencedFetch(leanFetch(config)), log),
  };
}
export type Network = ReturnType<typeof openNetwork>;
