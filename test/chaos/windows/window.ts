import { eventually } from "../../harness/wait.ts";
import { sources } from "../payloads.ts";
import type { Replica } from "../replica.ts";
import type { Sent } from "../sender.ts";
import type { Planned } from "../tracker-front.ts";
import type { World } from "../world.ts";

/** What one round of a scenario brought. */
export interface Round {
  /** How many executions met the moment that the scenario is about: fewer than were tried means that it proves less. */
  readonly hits: number;
  /** Times that it measured, milliseconds by name; `null` where something did not happen in time. */
  readonly times?: Readonly<Record<string, readonly (number | null)[]>>;
}

/** A moment at which the promise is hardest to keep, brought about on purpose. The first replica has the trouble. */
export interface Window {
  readonly name: string;
  readonly about: string;
  /** Executions that a round tries. */
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

/** Whether the answers to these deliveries are at the trackers within this time. */
export async function posted({ sender, ledger }: World, sent: readonly Sent[], timeout: number): Promise<boolean> {
  const keys = sent.flatMap((one) => sender.finalsOf(one));
  return within(() => keys.every((key) => ledger.has(key)), timeout);
}

/** How many requests have met these plans, once all have or the time is over. */
export async function met(plans: readonly Planned[], timeout = 20_000): Promise<number> {
  const count = () => plans.reduce((sum, plan) => sum + plan.met, 0);
  await within(() => count() >= plans.length, timeout);
  return count();
}

/** Whether it came true within this time. */
export const within = (fn: () => boolean | Promise<boolean>, timeout: number): Promise<boolean> =>
  eventually(fn, { timeout, interval: 10 }).then(
    () => true,
    () => false,
  );

/** Milliseconds until it came true; `null` where it did not within this time. */
export async function timeUntil(fn: () => boolean | Promise<boolean>, timeout: number): Promise<number | null> {
  const began = performance.now();
  return (await within(fn, timeout)) ? performance.now() - began : null;
}
