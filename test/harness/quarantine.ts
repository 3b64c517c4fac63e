import { childrenOf } from "./child-processes.ts";
import type { Service } from "./service.ts";
import { eventually } from "./wait.ts";

/**
 * Ends the processes of all plugins until each plugin is quarantined. It then stays down until an operator enables it, however long a
 * test takes; after fewer crashes it would start again within seconds.
 */
export const quarantinePlugins = (service: Service): Promise<true> =>
  eventually(
    async () => {
      const { body } = await service.get<{ id: string; state: string }[]>("/api/plugins");
      if (body.length > 0 && body.every(({ state }) => state === "quarantined")) return true;
      // Started immediately, so that the test does not wait like a plugin.
      for (const { id, state } of body) if (state === "backoff") await service.post(`/api/plugins/${id}/enable`);
      for (const pid of childrenOf(service.pid)) process.kill(Number(pid), "SIGKILL");
      return false;
    },
    { timeout: 100_000, interval: 50 },
  );
