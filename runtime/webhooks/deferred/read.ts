import { PluginUnavailable } from "../plugin-unavailable.ts";
import type { Receiver } from "../receive.ts";
import type { DeliveryContext } from "../received-webhook.ts";
import type { DeferredWebhooks } from "./defer.ts";

/** The parts of parsing that depend on the plugins' processes. */
interface Processes {
  runningPlugin(id: string): { readonly process: { status(): { readonly state: string } } | null } | undefined;
  onState(listener: (id: string, status: { readonly state: string }) => void): void;
}

/** What is stored with a deferred webhook. */
interface StoredContext extends DeliveryContext {
  readonly proven?: number[];
  readonly scopes?: string[];
}

/** Parses deferred webhooks once their plugin is running. */
export function readDeferred(deferred: DeferredWebhooks, receiver: Receiver, processes: Processes): void {
  const isServing = (state: string | undefined) => state === "ready" || state === "degraded";
  deferred.open({
    read: async (row, payload, { last, inOrder }) => {
      const entry = await receiver.entry(row.slug);
      // Its integration may be restored, like a plugin.
      if (!entry) throw new PluginUnavailable(`there is no webhook "${row.slug}"`, false);
      const { proven = [], scopes = [], ...context } = JSON.parse(row.context) as StoredContext;
      const request = { headers: JSON.parse(row.headers) as Record<string, string>, body: row.body };
      const delivery = { ...context, deferred: { id: row.id, proven, scopes, last, inOrder } };
      await receiver.accept(entry, request, payload, delivery);
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
