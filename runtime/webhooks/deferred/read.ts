import { PluginUnavailable } from "../plugin-unavailable.ts";
import type { DeliveryContext, Receiver } from "../receive.ts";
import type { DeferredWebhooks } from "./defer.ts";

/** What is asked of the plugins' processes. */
interface Processes {
  running(id: string): { readonly process: { status(): { readonly state: string } } | null } | undefined;
  onState(listener: (id: string, status: { readonly state: string }) => void): void;
}

/** Lets kept webhooks be read when their plugin serves. */
export function readDeferred(unread: DeferredWebhooks, inbox: Receiver, processes: Processes): void {
  const isServing = (state: string | undefined) => state === "ready" || state === "degraded";
  unread.open({
    read: async (row, payload, { last, inTurn }) => {
      const entry = await inbox.entry(row.slug);
      // Its integration may come back, as a plugin may.
      if (!entry) throw new PluginUnavailable(`there is no webhook "${row.slug}"`, false);
      const { proven = [], ...way } = JSON.parse(row.way) as DeliveryContext & { proven?: number[] };
      const request = { headers: JSON.parse(row.headers) as Record<string, string>, body: row.body };
      await inbox.accept(entry, row.slug, request, payload, { ...way, deferred: { id: row.id, proven, last, inTurn } });
    },
    discard: ({ headers, ...row }, reason) => inbox.storeUnreadable({ ...row, headers: JSON.parse(headers) }, reason),
    serves: (plugin) => {
      const running = processes.running(plugin);
      return running !== undefined && (running.process === null || isServing(running.process.status().state));
    },
  });
  processes.onState((id, { state }) => {
    // Its contributions are there a moment after its process is.
    if (isServing(state)) setTimeout(() => unread.wake(id), 50).unref();
  });
}
