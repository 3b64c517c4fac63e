import { setTimeout as sleep } from "node:timers/promises";
import { webhookOf } from "./payloads.ts";
import type { Replica } from "./replica.ts";

let probes = 0;

/**
 * Milliseconds until this replica answers a webhook with 2xx; `null` if it does not within `limitMs`. The event has no trigger,
 * so it starts nothing.
 */
export async function untilAnswered(replica: Replica, limitMs = 90_000): Promise<number | null> {
  const began = performance.now();
  const { path, headers } = webhookOf("beta", 0, "", `probe-${++probes}`);
  // An event without a mapping: it is stored, and starts no execution.
  const body = JSON.stringify({ object_kind: "build", project: { path_with_namespace: "octo/team/app" } });
  while (performance.now() - began < limitMs) {
    const asked = { headers: { ...headers, "x-gitlab-event": "Job Hook" }, timeout: 1000 };
    const { status } = await replica.client.post(path, body, asked).catch(() => ({ status: 0 }));
    if (status >= 200 && status < 300) return performance.now() - began;
    await sleep(25);
  }
  return null;
}
