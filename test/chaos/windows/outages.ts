import { setTimeout as sleep } from "node:timers/promises";
import { untilAnswered } from "../recovery.ts";
import type { Replica } from "../replica.ts";
import type { World } from "../world.ts";
import { deliver, posted, timeUntil, type Window, within } from "./window.ts";

const serveMs = 45_000;

/** Scenarios in which PostgreSQL is unavailable or does not respond. */
export const outageWindows: readonly Window[] = [
  {
    name: "cut-at-boot",
    about: "cut off, or met with silence, at some moment of its start, for 0.5 to 5 s",
    tries: 4,
    round: (world, first, second) =>
      boot(world, first, second, async (random) => {
        await sleep(random.between(100, 4000));
        if (random.chance(0.5)) await first.postgres?.cut();
        else first.postgres?.freeze();
        await sleep(random.between(500, 5000));
        await first.postgres?.mend({ held: "reset" });
      }),
  },
  {
    name: "reset-at-boot",
    about: "its connections are reset three times within the first seconds of its start",
    tries: 4,
    round: (world, first, second) =>
      boot(world, first, second, async (random) => {
        for (let resets = 0; resets < 3; resets++) {
          await sleep(random.between(200, 1500));
          first.postgres?.reset();
        }
      }),
  },
  {
    name: "lost-answer",
    about: "PostgreSQL's answer to one query is lost, and its connection stays silent",
    tries: 8,
    async round(world, first) {
      const under = await deliver(world, first);
      const more = deliver(world, first);
      await sleep(world.random.between(0, 250));
      const loss = first.postgres?.loseAnswers();
      const began = performance.now();
      const sent = [...under, ...(await more)];
      const done = await posted(world, sent, 60_000);
      const took = done ? performance.now() - began : null;
      return { hits: (loss?.lost ?? 0) > 0 ? sent.length : 0, times: { "answers posted after": [took] } };
    },
  },
  {
    name: "half-open",
    about: "every connection to PostgreSQL goes silent for good, while new ones would be answered",
    tries: 4,
    async round(world, first) {
      const sent = await deliver(world, first);
      first.postgres?.strand();
      const began = performance.now();
      const recovered = await untilAnswered(first);
      const took = (await posted(world, sent, 60_000)) ? performance.now() - began : null;
      return { hits: sent.length, times: { "webhooks again": [recovered], "answers posted after": [took] } };
    },
  },
  {
    name: "silent-server",
    about: "PostgreSQL is silent for 25 s, also for new connections, and its connections are reset after that",
    tries: 4,
    async round(world, first) {
      const sent = await deliver(world, first);
      first.postgres?.freeze();
      const silence = performance.now();
      const found = timeUntil(async () => !(await first.healthy(20_000)), 25_000);
      const elsewhere = (await posted(world, sent, 25_000)) ? performance.now() - silence : null;
      const unhealthy = await found;
      await sleep(Math.max(0, 25_000 - (performance.now() - silence)));
      await first.postgres?.mend({ held: "reset" });
      const recovered = await untilAnswered(first);
      const times = { "silence found": [unhealthy], "posted by another": [elsewhere], "webhooks again": [recovered] };
      return { hits: sent.length, times };
    },
  },
  {
    name: "term-in-outage",
    about: "SIGTERM while PostgreSQL is unavailable or silent",
    tries: 4,
    async round(world, first) {
      const sent = await deliver(world, first);
      if (world.random.chance(0.5)) await first.postgres?.cut();
      else first.postgres?.freeze();
      await sleep(world.random.between(0, 1500));
      const took = await first.terminate();
      await first.postgres?.mend({ held: "reset" });
      await posted(world, sent, 40_000);
      return { hits: sent.length, times: { "end after SIGTERM": [took] } };
    },
  },
  {
    name: "reset-in-service",
    about: "its connections are reset ten times within two seconds, while it serves and runs executions",
    tries: 4,
    async round(world, first) {
      const sent = await deliver(world, first);
      for (let resets = 0; resets < 10; resets++) {
        await sleep(world.random.between(0, 400));
        first.postgres?.reset();
      }
      const recovered = await untilAnswered(first);
      await posted(world, sent, 40_000);
      return { hits: sent.length, times: { "webhooks again": [recovered] } };
    },
  },
  {
    name: "term-after-outage",
    about: "SIGTERM within a second of PostgreSQL's return, after an outage of 3 s with work under way",
    tries: 4,
    async round(world, first) {
      const sent = await deliver(world, first);
      await first.postgres?.cut();
      await sleep(3000);
      await first.postgres?.mend();
      await sleep(world.random.between(0, 1000));
      const took = await first.terminate();
      await posted(world, sent, 40_000);
      return { hits: sent.length, times: { "end after SIGTERM": [took] } };
    },
  },
  {
    name: "outage-3s",
    about: "PostgreSQL is unavailable for 3 s for every replica",
    tries: 4,
    round: (world, first) => outage(world, first, 3000),
  },
  {
    name: "outage-60s",
    about: "PostgreSQL is unavailable for 60 s for every replica",
    tries: 4,
    round: (world, first) => outage(world, first, 60_000),
  },
];

async function boot(
  world: World,
  first: Replica,
  second: Replica,
  trouble: (random: World["random"]) => Promise<void>,
): ReturnType<Window["round"]> {
  await first.kill();
  await second.serves();
  const sent = await deliver(world, second);
  first.start();
  await trouble(world.random);
  const serves = await timeUntil(() => first.healthy(), serveMs);
  await within(() => second.healthy(), 5000);
  await posted(world, sent, 40_000);
  return { hits: sent.length, times: { "serves after the trouble": [serves] } };
}

async function outage(world: World, first: Replica, ms: number): ReturnType<Window["round"]> {
  const sent = await deliver(world, first);
  await Promise.all(world.replicas.map(({ postgres }) => postgres?.cut()));
  await sleep(ms);
  await Promise.all(world.replicas.map(({ postgres }) => postgres?.mend()));
  const again = await Promise.all(world.replicas.map((replica) => untilAnswered(replica)));
  await posted(world, sent, 40_000);
  return { hits: sent.length, times: { "webhooks again": again } };
}
