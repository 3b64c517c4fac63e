import { eventually } from "../../harness/wait.ts";
import { sources } from "../payloads.ts";
import type { Replica } from "../replica.ts";
import type { Sent } from "../sender.ts";
import type { Planned } from "../tracker-front.ts";
import type { World } from "../world.ts";

/** The result of one round of a scenario. */
export interface Round {
  /** Number of executions that met the moment of the scenario. If it is less than the number of tries, the round proves less. */
  readonly hits: number;
  /** Measured times, in milliseconds by name; `null` if something did not happen in time. */
  readonly times?: Readonly<Record<string, readonly (number | null)[]>>;
}

/** Causes a moment at which the promise is hardest to keep. The fault affects the first replica. */
export interface Window {
  readonly name: string;
  readonly about: string;
  /** Number of executions that a round tries. */
  readonly tries: number;
  round(world: World, first: Replica, second: Replica): Promise<Round>;
}

/** Paths of the trackers' lists of comments. */
export const comments = /\/(comments?|notes)\/?$/;

/** Sends one webhook of each platform to a replica, and waits until all are accepted. */
export async function deliver({ sender }: World, to: Replica): Promise<Sent[]> {
  const sent = sources.map((source) => sender.send({ to, source }));
  await eventually(() => sent.every(({ receipt }) => receipt), { timeout: 30_000, interval: 10 });
  return sent;
}

/** Whether the answers to these deliveries appear at the trackers within this time. */
export async function posted({ sender, ledger }: World, sent: readonly Sent[], timeout: number): Promise<boolean> {
  const keys = sent.flatMap((one) => sender.finalsOf(one));
  return within(() => keys.every((key) => ledger.has(key)), timeout);
}

/** The number of requests that matched these plans, once all have or the time has passed. */
export async function met(plans: readonly Planned[], timeout = 20_000): Promise<number> {
  const count = () => plans.reduce((sum, plan) => sum + plan.met, 0);
  await within(() => count() >= plans.length, timeout);
  return count();
}

/** Whether the condition became true within this time. */
export const within = (fn: () => boolean | Promise<boolean>, timeout: number): Promise<boolean> =>
  eventually(fn, { timeout, interval: 10 }).then(
    () => true,
    () => false,
  );

/** Milliseconds until the condition became true; `null` if it did not within this time. */
export async function timeUntil(fn: () => boolean | Promise<boolean>, timeout: number): Promise<number | null> {
  const began = performance.now();
  return (await within(fn, timeout)) ? performance.now() - began : null;
}
