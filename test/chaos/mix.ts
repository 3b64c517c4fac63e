import { setTimeout as sleep } from "node:timers/promises";
import { Account } from "./account.ts";
import { audit } from "./audit.ts";
import { FaultDriver, faultsOf } from "./faults.ts";
import type { ChaosOptions } from "./options.ts";
import { untilAnswered } from "./recovery.ts";
import { broken, listed, print, progress, type Row, spread } from "./report.ts";
import { startWorld, type World } from "./world.ts";

/** One task writes immediately, one after an approval, and one shows its progress and its answer in one comment that it edits. */
const tasks = ["first", "staged", "living"];
/** Seconds between two lines of progress. */
const every = 15;

/** Runs all faults at random for some minutes. Returns whether every promise held. */
export async function runMix(options: ChaosOptions): Promise<boolean> {
  const { database, replicas, lease, redis, seed } = options;
  const about = `seed ${seed}, ${replicas} × ${database}, lease ${lease} s, ${redis ? "with" : "without"} Redis`;
  progress(`starts: ${about}`);
  const world = await startWorld({ ...options, tasks });
  try {
    world.sender.start(options.executions);
    // Measured in the second half, when the replicas are warm.
    await sleep(options.calm * 500);
    const calm = await rate(world, () => sleep(options.calm * 500));
    progress(`calm: ${calm.toFixed(1)} executions/s; faults begin`);
    const recoveries: (number | null)[] = [];
    const faults = new FaultDriver(faultsOf({ postgres: database === "postgres", redis }, options.weights), {
      random: world.random.stream("faults"),
      lease: lease * 1000,
      replicas: world.replicas,
      recovered: async (replica) => void recoveries.push(await untilAnswered(replica, 30_000)),
    });
    world.trackers.trouble = options.trouble;
    world.model.trouble = options.trouble;
    faults.start(options.pause * 1000);
    const account = world.databaseUrl === null ? null : new Account(world, world.databaseUrl);
    const mixed = await rate(world, () => untilOver(world, options.minutes));
    const spent = await account?.stop();
    await Promise.all([faults.stop(), world.sender.stop()]);
    progress(`faults end (${listed(faults.counts)}); ${mixed.toFixed(1)} executions/s; waits until everything has ended`);
    const findings = await audit(world);
    const measured: Row[] = [
      ["faults", listed(faults.counts)],
      ["trackers' faults", listed(sum(world.trackers.list.map(({ front }) => front.counts)))],
      ["notes written by tools", world.ledger.confirmed.size],
      ["approvals accepted", world.approver.accepted],
      ["edits of comments", world.ledger.edits],
      ["executions/s in calm", calm.toFixed(1)],
      ["executions/s under faults", mixed.toFixed(1)],
      ...(spent ?? []),
      ["webhooks again after an outage", spread(recoveries)],
      ["end after SIGTERM", spread(world.replicas.flatMap(({ ends }) => ends))],
    ];
    print(`chaos: ${about}`, measured, findings);
    const wrong = broken(findings);
    const result = wrong.length === 0 ? "every promise held" : `broken: ${wrong.map((pair) => pair.join(" ")).join(", ")}`;
    process.stdout.write(`\n${result}\nlogs: ${world.logs}\n`);
    return wrong.length === 0;
  } finally {
    await world.close();
  }
}

/** Answers that appeared at the trackers, per second. */
async function rate({ ledger }: World, act: () => Promise<void>): Promise<number> {
  const [finals, began] = [ledger.finals, performance.now()];
  await act();
  return (ledger.finals - finals) / ((performance.now() - began) / 1000);
}

async function untilOver({ sender, ledger }: World, minutes: number): Promise<void> {
  const began = performance.now();
  let told = 0;
  while (!sender.finished && performance.now() - began < minutes * 60_000) {
    await sleep(100);
    const seconds = (performance.now() - began) / 1000;
    if (seconds < told + every) continue;
    told = seconds;
    progress(`${sender.sent.length} deliveries, ${ledger.finals} answers`);
  }
}

function sum(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const one of counts) for (const [name, count] of Object.entries(one)) all[name] = (all[name] ?? 0) + count;
  return all;
}
