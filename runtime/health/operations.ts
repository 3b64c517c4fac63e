import * as health from "@signalbox/schema/health";
import type { Output } from "@signalbox/schema/operation";
import { raceTimeout } from "../platform/abortable.ts";
import { handle } from "../platform/operation.ts";

/** A part that the service needs to answer requests. `probe` rejects while the part does not respond. */
export interface Part {
  readonly name: string;
  readonly probe: () => Promise<unknown>;
}

const timeoutMs = 3_000;

type Health = Output<typeof health.get>;
/** Problems that do not make the service unhealthy, but that operators should know about. */
interface HealthWarnings {
  readonly plugins?: () => NonNullable<Health["plugins"]>;
  readonly deferredWebhooks?: () => Readonly<NonNullable<Health["deferred_webhooks"]>>;
}

export function healthOperation(
  parts: readonly Part[],
  { plugins = () => [], deferredWebhooks = () => [] }: HealthWarnings = {},
) {
  return handle(health.get, async () => {
    const down = await unavailableParts(parts);
    const timestamp = new Date().toISOString();
    const [notServing, deferred_webhooks] = [plugins(), [...deferredWebhooks()]];
    const also = {
      ...(notServing.length > 0 && { plugins: notServing }),
      ...(deferred_webhooks.length > 0 && { deferred_webhooks }),
    };
    return down.length === 0
      ? { status: "ok" as const, timestamp, ...also }
      : { status: "degraded" as const, timestamp, ...also, down };
  });
}

/** Names of the parts that do not respond. */
export async function unavailableParts(parts: readonly Part[]): Promise<string[]> {
  const results = await Promise.all(parts.map(async ({ name, probe }) => ((await answers(probe)) ? null : name)));
  return results.filter((name) => name !== null);
}

function answers(probe: () => Promise<unknown>): Promise<boolean> {
  const answer = probe().then(
    () => true,
    () => false,
  );
  return raceTimeout(answer, timeoutMs, false);
}
