import { createHmac, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { problem } from "@signalbox/schema/problem";
import { matchesSecret } from "../agents/secret.ts";
import { networkOf } from "../platform/network/networks.ts";
import { Semaphore } from "../platform/semaphore.ts";
import type { MakeCounter } from "./counters.ts";

/** Number of wrong secrets, for one agent from one network within 15 minutes, that are answered immediately. */
const wrongSecrets = { points: 10, seconds: 900 };
/** After that, time between two checks for the same agent and network, in milliseconds. */
const slowMs = 500;
/** Maximum number of checks for the same agent and network that wait on this replica; further ones are refused unchecked. */
const maxWaiting = 20;
/** The same for all agents of a network, because a stranger can invent agents. */
const maxWaitingOfNetwork = 200;
/** Maximum number of hashes at the same time: each takes a processor, and one of the four threads that read files and look up names. */
const maxHashes = 2;

interface Attempt {
  readonly agentId: string;
  /** Address of the caller; `null` if unknown. */
  readonly address: string | null;
  readonly secret: string;
  /** Hash of the agent's secret; `null` if it has none, or if there is no such agent. */
  readonly hash: string | null;
}

/** Checks the secrets of agents. */
export interface Secrets {
  /** Whether the secret is right. Throws `rate_limited` for a wrong one after too many wrong ones. */
  isRight(attempt: Attempt): Promise<boolean>;
}

/**
 * Counts wrong secrets by agent and network, on all replicas together, so that an attacker who guesses does not lock the agent
 * out. After ten wrong ones, secrets from that network are checked slowly, one at a time, and a right one is still accepted. A
 * secret that this replica has already verified is accepted immediately. Networks take turns, so that the secrets that a
 * stranger sends for many agents delay only those from the stranger's own network.
 */
export function createSecrets(make: MakeCounter, pauseMs = slowMs, matches = matchesSecret): Secrets {
  const counter = make("wrong_secrets", wrongSecrets.points, wrongSecrets.seconds);
  const verifiedSecrets = new Map<string, { readonly hash: string; readonly mac: string }>();
  const macKey = randomBytes(32);
  const macOf = (secret: string) => createHmac("sha256", macKey).update(secret).digest("base64");
  const runSerially = keyedMutex();
  const ofNetwork = limitPerName(maxWaitingOfNetwork);
  const hashes = new Semaphore(maxHashes);
  const check = async ({ agentId, secret, hash }: Attempt, network: string): Promise<boolean> => {
    const name = `${agentId}@${network}`;
    const usage = await counter.get(name);
    const slow = usage !== null && usage.consumedPoints >= wrongSecrets.points;
    if (slow) await sleep(pauseMs);
    if (await hashes.run(() => matches(secret, hash), { name: network })) {
      verifiedSecrets.set(agentId, { hash: hash as string, mac: macOf(secret) });
      return true;
    }
    await counter.consume(name).catch(() => {});
    if (slow) throw tooMany((usage?.msBeforeNext ?? 0) / 1000);
    return false;
  };
  return {
    isRight: async (attempt) => {
      const seen = verifiedSecrets.get(attempt.agentId);
      if (seen && seen.hash === attempt.hash && seen.mac === macOf(attempt.secret)) return true;
      const network = attempt.address === null ? "unknown" : networkOf(attempt.address);
      return ofNetwork(network, () => runSerially(`${attempt.agentId}@${network}`, () => check(attempt, network)));
    },
  };
}

const tooManyWaiting = "Too many secrets from this network are waiting to be checked. Send this one again in a second.";
const queueFull = problem("rate_limited", tooManyWaiting, { retryAfter: 1 });
const tooMany = (seconds: number) => {
  const message = `Too many wrong secrets were sent for this agent from this address. Try again in ${Math.ceil(seconds)} s.`;
  return problem("rate_limited", message, { retryAfter: seconds });
};

/** One at a time for each name, so that concurrent guesses are counted one after the other. */
function keyedMutex(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { lastTurn: Promise<unknown>; length: number }>();
  return (name, work) => {
    const queue = queues.get(name) ?? { lastTurn: Promise.resolve(), length: 0 };
    if (queue.length >= maxWaiting) throw queueFull;
    queue.length++;
    queues.set(name, queue);
    const turn = queue.lastTurn.then(work, work);
    queue.lastTurn = turn
      .catch(() => {})
      .finally(() => {
        queue.length--;
        if (queue.length === 0) queues.delete(name);
      });
    return turn;
  };
}

/** Refuses work if `most` of the same name is in progress. */
function limitPerName(most: number): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const counts = new Map<string, number>();
  return async (name, work) => {
    const count = counts.get(name) ?? 0;
    if (count >= most) throw queueFull;
    counts.set(name, count + 1);
    try {
      return await work();
    } finally {
      const left = (counts.get(name) ?? 1) - 1;
      if (left === 0) counts.delete(name);
      else counts.set(name, left);
    }
  };
}
