import { PluginUnavailable } from "../plugin-unavailable.ts";
import type { Receiver } from "../receive.ts";
import type { DeferredWebhooks } from "./defer.ts";
import { readContext } from "./stored-context.ts";

/** The parts of parsing that depend on the plugins' processes. */
interface Processes {
  runningPlugin(id: string): { readonly process: { status(): { readonly state: string } } | null } | undefined;
  onState(listener: (id: string, status: { readonly state: string }) => void): void;
}

/** Parses deferred webhooks once their plugin is running. */
export function readDeferred(deferred: DeferredWebhooks, receiver: Receiver, processes: Processes): void {
  const isServing = (state: string | undefined) => state === "ready" || state === "degraded";
  deferred.open({
    read: async (row, payload, { last, inOrder }) => {
      const entry = await receiver.entry(row.slug);
      // Its integration may be restored, like a plugin.
      if (!entry) throw new PluginUnavailable(`there is no webhook "${row.slug}"`, false);
      const { origin, ...checked } = readContext(row.context);
      const request = { headers: JSON.parse(row.headers) as Record<string, string>, body: row.body };
      await receiver.accept(entry, request, payload, { origin, id: row.id, inOrder, deferred: { ...checked, last } });
    },
    discard: ({ headers, ...row }, reason) => receiver.storeUnreadable({ ...row, headers: JSON.parse(headers) }, reason),
    serves: (plugin) => {
      const running = processes.runningPlugin(plugin);
      return running !== undefined && (running.process === null || isServing(running.process.status().state));
    },
  });
  processes.onState((id, { state }) => {
    // Its contributions are registered a moment after its process is ready.
    if (isServing(state)) setTimeout(() => deferred.wake(id), 50).unref();
  });
}
