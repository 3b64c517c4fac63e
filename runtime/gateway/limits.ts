import { problem } from "@signalbox/schema/problem";
import { RateLimiterRes } from "rate-limiter-flexible";
import type { MakeCounter } from "./counters.ts";
import type { GatewayAgent } from "./queries.ts";

type TrustLevel = GatewayAgent["trust_level"];

export interface Limits {
  perMinute(level: TrustLevel): number;
  /** Counts one call of an agent. Throws `rate_limited` with the time to wait. */
  count(agentId: string, level: TrustLevel): Promise<void>;
}

/** `make` creates a counter that all replicas share. */
export function createLimits(perMinute: Readonly<Record<TrustLevel, number>>, make: MakeCounter): Limits {
  const levels = new Map(
    (Object.keys(perMinute) as TrustLevel[]).map((level) => [level, make(`calls_${level}`, perMinute[level], 60)]),
  );
  return {
    perMinute: (level) => perMinute[level],
    count: async (agentId, level) => {
      try {
        await levels.get(level)?.consume(agentId);
      } catch (reason) {
        if (!(reason instanceof RateLimiterRes)) throw reason;
        const message = `The agent "${agentId}" made more than ${perMinute[level]} calls in a minute.`;
        throw problem("rate_limited", message, { retryAfter: reason.msBeforeNext / 1000 });
      }
    },
  };
}
