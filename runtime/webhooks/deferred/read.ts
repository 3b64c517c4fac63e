import { acceptsCalls, isAvailable } from "../../plugins/installed-plugin.ts";
import type { PluginManager } from "../../plugins/plugin-manager.ts";
import { PluginUnavailable } from "../plugin-unavailable.ts";
import type { Receiver } from "../receive.ts";
import type { DeferredWebhooks } from "./defer.ts";
import { readContext } from "./stored-context.ts";

/** Parses deferred webhooks once their plugin is running. */
export function readDeferred(
  deferred: DeferredWebhooks,
  receiver: Receiver,
  plugins: Pick<PluginManager, "runningPlugin" | "onState">,
): void {
  deferred.open({
    read: async (row, { last, inOrder }) => {
      const entry = await receiver.entry(row.slug);
      // Its integration may be restored, like a plugin.
      if (!entry) throw new PluginUnavailable(`there is no webhook "${row.slug}"`, false);
      const { origin, ...checked } = readContext(row.context);
      const request = { headers: JSON.parse(row.headers) as Record<string, string>, body: row.body };
      const payload = await receiver.storedPayload(row.body);
      await receiver.accept(entry, request, payload, { origin, id: row.id, inOrder, deferred: { ...checked, last } });
    },
    discard: ({ headers, ...row }, reason) => receiver.storeUnreadable({ ...row, headers: JSON.parse(headers) }, reason),
    serves: (plugin) => {
      const running = plugins.runningPlugin(plugin);
      return running !== undefined && isAvailable(running);
    },
  });
  plugins.onState((id, { state }) => {
    // Its contributions are registered a moment after its process is ready.
    if (acceptsCalls(state)) setTimeout(() => deferred.wake(id), 50).unref();
  });
}
