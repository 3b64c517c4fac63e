import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "./random.ts";
import type { Replica } from "./replica.ts";

/** The parts of a run that a fault uses. */
interface FaultContext {
  readonly random: Random;
  /** Milliseconds. */
  readonly lease: number;
  readonly replicas: readonly Replica[];
  /** Milliseconds from the database's return until a webhook was answered. */
  readonly recovered: (replica: Replica) => Promise<void>;
}

export interface Fault {
  readonly name: string;
  /** How often it occurs, relative to the others. */
  readonly weight: number;
  readonly needs?: "postgres" | "redis";
  /** Whether it affects all replicas. */
  readonly everywhere?: boolean;
  act(replica: Replica, context: FaultContext): Promise<void>;
}

const restart = async (replica: Replica, { random }: FaultContext): Promise<void> => {
  await sleep(random.between(0, 1500));
  replica.start();
  await replica.serves(30_000).catch(() => {});
  // Executions that lose five workers in a row are failed on purpose, so a worker must have time to do some work.
  await sleep(random.between(1000, 4000));
};

const processes: readonly Fault[] = [
  {
    name: "kill",
    weight: 20,
    act: async (replica, context) => {
      await replica.kill();
      await restart(replica, context);
    },
  },
  {
    name: "term",
    weight: 8,
    act: async (replica, context) => {
      await replica.terminate();
      await restart(replica, context);
    },
  },
  {
    name: "stop",
    weight: 20,
    act: (replica, { random, lease }) => frozen(replica, random.between(200, lease * 0.6)),
  },
  {
    name: "stop-beyond-lease",
    weight: 6,
    act: (replica, { random, lease }) => frozen(replica, lease * random.between(1.1, 1.8)),
  },
];

async function frozen(replica: Replica, ms: number): Promise<void> {
  replica.freeze();
  await sleep(ms);
  replica.thaw();
}

const databaseFaults: readonly Fault[] = [
  { name: "pg-cut", weight: 20, act: (replica, context) => away(replica, "cut", context.random.between(200, 4000), context) },
  { name: "pg-reset", weight: 10, act: async ({ postgres }) => postgres?.reset() },
  {
    name: "pg-freeze",
    weight: 6,
    act: (replica, context) => away(replica, "freeze", context.random.between(500, context.lease * 1.6), context),
  },
  {
    name: "pg-lose",
    weight: 6,
    act: async ({ postgres }, { random }) => {
      postgres?.loseAnswers();
      await sleep(random.between(5000, 15_000));
      await postgres?.mend();
    },
  },
  {
    name: "pg-strand",
    weight: 4,
    act: async ({ postgres }, { random }) => {
      postgres?.strand();
      await sleep(random.between(5000, 15_000));
      await postgres?.mend();
    },
  },
  {
    name: "pg-delay",
    weight: 5,
    act: async ({ postgres }, { random }) => {
      postgres?.delay(random.between(20, 200));
      await sleep(random.between(1000, 5000));
      postgres?.delay(0);
    },
  },
  {
    name: "stop-and-cut",
    weight: 6,
    // Meanwhile, others take over its executions without its knowledge.
    act: async (replica, { random, lease }) => {
      replica.freeze();
      await sleep(lease * random.between(1.1, 1.6));
      await replica.postgres?.cut();
      replica.thaw();
      await sleep(random.between(500, 4000));
      await replica.postgres?.mend();
    },
  },
  {
    name: "pg-outage",
    weight: 2,
    everywhere: true,
    act: async (_, { replicas, random, recovered }) => {
      await Promise.all(replicas.map(({ postgres }) => postgres?.cut()));
      await sleep(random.between(1000, 5000));
      await Promise.all(replicas.map(({ postgres }) => postgres?.mend()));
      await Promise.all(replicas.filter(({ up }) => up).map(recovered));
    },
  },
];

async function away(replica: Replica, how: "cut" | "freeze", ms: number, { recovered }: FaultContext): Promise<void> {
  const { postgres } = replica;
  if (how === "cut") await postgres?.cut();
  else postgres?.freeze();
  await sleep(ms);
  await postgres?.mend({ held: how === "freeze" && ms > 3000 ? "reset" : "deliver" });
  if (replica.up) await recovered(replica);
}

const redisFaults: readonly Fault[] = [
  {
    name: "redis-cut",
    weight: 5,
    act: async ({ redis }, { random }) => {
      await redis?.cut();
      await sleep(random.between(200, 4000));
      await redis?.mend();
    },
  },
  {
    name: "redis-freeze",
    weight: 2,
    act: async ({ redis }, { random }) => {
      redis?.freeze();
      await sleep(random.between(500, 6000));
      await redis?.mend();
    },
  },
];

/** The faults of a run, with its weights. Throws if a weight names an unknown fault. */
export function faultsOf(has: { postgres: boolean; redis: boolean }, weights: Readonly<Record<string, number>>): Fault[] {
  const all = [...processes, ...(has.postgres ? databaseFaults : []), ...(has.redis ? redisFaults : [])];
  const known = [...processes, ...databaseFaults, ...redisFaults].map(({ name }) => name);
  const strange = Object.keys(weights).find((name) => !known.includes(name));
  if (strange) throw new Error(`--weights: there is no fault "${strange}"; there are ${known.join(", ")}`);
  return all.map((fault) => ({ ...fault, weight: weights[fault.name] ?? fault.weight })).filter(({ weight }) => weight > 0);
}

/** Draws faults and runs them until it is stopped; at most one at a time on each replica. */
export class FaultDriver {
  readonly counts: Record<string, number> = {};
  readonly #faults: readonly Fault[];
  readonly #context: FaultContext;
  readonly #acting = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #loop: Promise<void> | null = null;

  constructor(faults: readonly Fault[], context: FaultContext) {
    this.#faults = faults;
    this.#context = context;
  }

  /** `pauseMs`: mean time between two faults. */
  start(pauseMs: number): void {
    this.#loop = this.#run(pauseMs);
  }
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
    await Promise.all(this.#acting);
  }

  async #run(pauseMs: number): Promise<void> {
    const { random, replicas } = this.#context;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await sleep(random.wait(pauseMs), null, { signal }).catch(() => {});
      if (signal.aborted) return;
      // Drawn before it is known which replicas are free, so that the seed alone decides.
      const fault = this.#draw(random);
      const replica = random.pick(replicas);
      const taken = fault.everywhere ? replicas : [replica];
      if (taken.some((one) => one.fault !== null)) continue;
      this.#begin(fault, replica, taken);
    }
  }

  #begin(fault: Fault, replica: Replica, taken: readonly Replica[]): void {
    this.counts[fault.name] = (this.counts[fault.name] ?? 0) + 1;
    for (const one of taken) {
      one.fault = fault.name;
      one.note(fault.name);
    }
    const acting = fault
      .act(replica, this.#context)
      .finally(() => {
        for (const one of taken) one.fault = null;
        replica.note(`end of ${fault.name}`);
      })
      .finally(() => this.#acting.delete(acting));
    this.#acting.add(acting);
  }

  #draw(random: Random): Fault {
    const whole = this.#faults.reduce((sum, { weight }) => sum + weight, 0);
    const choices = this.#faults.map((fault) => [fault.weight / whole, fault] as const);
    return random.draw(choices) ?? (this.#faults[0] as Fault);
  }
}
