import { problem } from "@signalbox/schema/problem";
import { type RateLimiterAbstract, RateLimiterRes } from "rate-limiter-flexible";
import type { GatewayAgent } from "./queries.ts";

type TrustLevel = GatewayAgent["trust_level"];

export interface Limits {
  perMinute(level: TrustLevel): number;
  /** Counts one call; throws `rate_limited` with the time to wait. */
  count(agentId: string, level: TrustLevel): Promise<void>;
  /** Whether a secret is right. Wrong ones are counted, and after too many nothing is looked at: throws `rate_limited`. */
  secret(agentId: string, isRight: () => Promise<boolean>): Promise<boolean>;
}

/** So many wrong secrets in a quarter of an hour; then nothing more is tried until it is over. */
const wrongSecrets = { points: 10, seconds: 900 };

/** `make` gives a counter that all replicas share: in Redis, or in the database. */
export function createLimits(
  perMinute: Readonly<Record<TrustLevel, number>>,
  make: (prefix: string, points: number, seconds: number) => RateLimiterAbstract,
): Limits {
  const levels = new Map(
    (Object.keys(perMinute) as TrustLevel[]).map((level) => [level, make(`calls_${level}`, perMinute[level], 60)]),
  );
  const inTurn = turns();
  const secrets = make("wrong_secrets", wrongSecrets.points, wrongSecrets.seconds);
  return {
    perMinute: (level) => perMinute[level],
    count: async (agentId, level) => {
      await levels
        .get(level)
        ?.consume(agentId)
        .catch(refuse(`The agent "${agentId}" made more than ${perMinute[level]} calls in a minute.`));
    },
    secret: (agentId, isRight) =>
      inTurn(agentId, async () => {
        const used = await secrets.get(agentId);
        if (used && used.consumedPoints >= wrongSecrets.points) {
          const retryAfter = used.msBeforeNext / 1000;
          throw problem("rate_limited", "Too many wrong secrets were sent for this agent.", { retryAfter });
        }
        const right = await isRight();
        if (!right) await secrets.consume(agentId).catch(() => {});
        return right;
      }),
  };
}

/** One at a time for each name: of guesses sent side by side none is looked at before those in front of it are counted. */
function turns(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work, work);
    const done = mine.catch(() => {}).finally(() => last.get(name) === done && last.delete(name));
    last.set(name, done);
    return mine;
  };
}

const refuse = (message: string) => (reason: unknown) => {
  if (reason instanceof RateLimiterRes) throw problem("rate_limited", message, { retryAfter: reason.msBeforeNext / 1000 });
  throw reason;
};
