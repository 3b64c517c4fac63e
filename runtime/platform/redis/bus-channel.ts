import type { OpenChannel } from "../bus-channels.ts";
import { startLoop } from "../loop.ts";
import { subscribe } from "./client.ts";

const probeMs = 2_000;

/**
 * Messages that are published while Redis is unavailable reach no other replica, so each replica reloads its cached values
 * when its connection is back. A change over the API does not fail because other replicas could not be notified.
 */
export const overRedis =
  (url: string | undefined, name: string): OpenChannel =>
  async ({ onMessage, onReconnect, refresh }) => {
    const subscription = await subscribe(url, name, onMessage, onReconnect);
    // While the connection is lost, this replica polls.
    const probes = startLoop({ everyMs: probeMs, run: async () => void (await subscription.count()), onError: refresh });
    return {
      send: (message) => subscription.publish(message).catch(() => {}),
      members: () => subscription.count().catch(() => 1),
      close: () => {
        void probes.stop();
        subscription.close();
      },
    };
  };
