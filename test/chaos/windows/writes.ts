import { setTimeout as sleep } from "node:timers/promises";
import type { Replica } from "../replica.ts";
import type { World } from "../world.ts";
import { comments, deliver, met, posted, type Window } from "./window.ts";

/** Longer than any wait before a takeover that keeps the promise about an execution's progress. */
const takeoverMs = 40_000;
/** Longer than a process waits for its work after SIGTERM. */
const beyondDrainMs = 28_000;

/** Two replicas may both consider a write as theirs. */
export const writeWindows: readonly Window[] = [
  {
    name: "retry-after",
    about: "waits 9 s because the tracker asked for it, with a lease of 4 s, cut off from PostgreSQL",
    tries: 4,
    async round(world, first, second) {
      second.freeze();
      const trouble = { kind: "status", status: 429, retryAfter: 9 } as const;
      const plans = world.trackers.plan({ method: "POST", path: comments, trouble });
      const sent = await deliver(world, first);
      const hits = await met(plans);
      const waitOver = sleep(9000 + 4000);
      await first.postgres?.cut();
      second.thaw();
      await posted(world, sent, takeoverMs);
      await waitOver;
      return { hits };
    },
  },
  {
    name: "frozen-in-find",
    about: "frozen while it looks for its comment; another replica posts; cut off from PostgreSQL when it goes on",
    tries: 4,
    async round(world, first, second) {
      second.freeze();
      world.trackers.plan({ method: "POST", path: comments, trouble: { kind: "status", status: 500 } });
      const looks = world.trackers.plan({ method: "GET", path: comments, trouble: { kind: "hold", after: true } });
      const sent = await deliver(world, first);
      const hits = await met(looks);
      first.freeze();
      for (const look of looks) look.release();
      second.thaw();
      await posted(world, sent, takeoverMs);
      await first.postgres?.cut();
      first.thaw();
      await sleep(6000);
      return { hits };
    },
  },
  {
    name: "in-flight-frozen",
    about: "frozen while its post is on the way; the tracker carries that out after another replica has posted",
    tries: 4,
    round: (world, first, second) => inFlight(world, first, second, () => first.freeze()),
  },
  {
    name: "in-flight-cut",
    about: "cut off from PostgreSQL while its post is on the way, which the tracker carries out after another's",
    tries: 4,
    round: (world, first, second) => inFlight(world, first, second, async () => first.postgres?.cut()),
  },
  {
    name: "term-on-the-wire",
    about: "SIGTERM while the post is on the way; the tracker carries it out 28 s later, when the process has ended",
    tries: 4,
    async round(world, first, second) {
      second.freeze();
      const posts = world.trackers.plan({ method: "POST", path: comments, trouble: { kind: "hold" } });
      const sent = await deliver(world, first);
      const hits = await met(posts);
      const ended = first.terminate();
      second.thaw();
      await sleep(beyondDrainMs);
      for (const post of posts) post.release();
      const took = await ended;
      // Its connections end with it, but the tracker still carries out accepted requests.
      await posted(world, sent, takeoverMs);
      return { hits, times: { "end after SIGTERM": [took] } };
    },
  },
  {
    name: "term-before-the-answer",
    about: "SIGTERM after the tracker carried out the post, before its answer, which comes 6 s later",
    tries: 4,
    async round(world, first, second) {
      second.freeze();
      const posts = world.trackers.plan({ method: "POST", path: comments, trouble: { kind: "hold", after: true } });
      const sent = await deliver(world, first);
      const hits = await met(posts);
      const ended = first.terminate();
      second.thaw();
      await sleep(6000);
      for (const post of posts) post.release();
      const took = await ended;
      await posted(world, sent, takeoverMs);
      return { hits, times: { "end after SIGTERM": [took] } };
    },
  },
];

/** The tracker holds the posts until another replica has posted, or for 30 s. */
async function inFlight(world: World, first: Replica, second: Replica, trouble: () => unknown) {
  second.freeze();
  const posts = world.trackers.plan({ method: "POST", path: comments, trouble: { kind: "hold" } });
  const sent = await deliver(world, first);
  const hits = await met(posts);
  await trouble();
  second.thaw();
  await posted(world, sent, 30_000);
  for (const post of posts) post.release();
  await sleep(500);
  first.thaw();
  await sleep(3000);
  return { hits };
}
