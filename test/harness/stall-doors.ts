import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { type Filling, fillingsOf } from "./fillings.ts";
import { bundledService } from "./process.ts";
import { type Service, type ServiceOptions, startService } from "./service.ts";

export const mebibyte = 1 << 20;
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
/** Contents of each door, no two alike: all there are of members, and most of the others. */
const numRuns = Number(process.env.FUZZ_RUNS ?? 9);
/** For doors where each content costs much the same. */
export const few = Math.ceil(numRuns / 3);
/** What an idle service may use in one tick, in milliseconds: every bound is extended by what it does use. */
const maxIdleMs = 25;
/** The other doors of a slow machine get fewer, after this time in milliseconds. */
const enoughMs = 8_000;

/** A way in that a stranger fills. */
export interface Door {
  readonly name: string;
  /** What of the filling it sends: one member at a time, since all three would be too large. */
  readonly takes: keyof Filling;
  /** Returns the status. */
  readonly run: (filling: Filling) => Promise<number>;
  /** How many fillings it is sent at most. */
  readonly runs: number;
}

export const door = (name: string, takes: keyof Filling, run: Door["run"], runs = numRuns): Door => ({ name, takes, run, runs });

/** A service that measures its own event loop: the most processor time that its thread uses between two turns. */
export interface MeasuredService extends Service {
  /** Sends each door something small, so that no first call is measured, and measures the idle loop. */
  warmUp(doors: readonly Door[]): Promise<void>;
  /** Fails if what is sent stalls the loop over the bound, in milliseconds, each time: a collection of garbage comes once. */
  expectStallBelow(most: number, door: Door, filling: Filling): Promise<void>;
  /** The same with fillings of this size, in bytes: as many as the door gets, or `runs`. */
  expectNoStall(most: number, door: Door, size: number, runs?: number): Promise<void>;
}

export async function startMeasuredService(options: ServiceOptions): Promise<MeasuredService> {
  const [port] = await freePorts(1);
  const measured = { STALL_METER_PORT: String(port), NODE_OPTIONS: `--import=${join(bundledService, "measure-loop.js")}` };
  const service = await startService({ ...options, env: { ...options.env, ...measured } });
  const stall = async () => Number(await (await fetch(`http://127.0.0.1:${port}/`)).text());
  let idle = 0;
  const expectStallBelow: MeasuredService["expectStallBelow"] = async (most, { name, run, takes }, filling) => {
    let used = Number.POSITIVE_INFINITY;
    let status = 0;
    for (let tries = 0; tries < 5 && used >= most + idle; tries++) {
      await stall();
      status = await run(filling);
      // Work that the answer did not wait for.
      await sleep(200);
      used = await stall();
    }
    if (used >= most + idle) {
      const sent = filling[takes];
      const what = `${name}: ${JSON.stringify(sent.slice(0, 60))} (${sent.length}), answered ${status}; idle: ${idle} ms; FUZZ_SEED=${seed}`;
      expect(used, what).toBeLessThan(most + idle);
    }
    expect(status, `${name}: ${service.logs().slice(-2_000)}`).toBeLessThan(500);
  };
  return Object.assign(service, {
    expectStallBelow,
    warmUp: async (doors: readonly Door[]) => {
      for (const { run } of doors) {
        const began = performance.now();
        // Once is enough for a call that the service repeats by itself, with pauses.
        for (let i = 0; i < 3 && performance.now() - began < 2_000; i++)
          await run({ text: "Hello", list: "[1]", members: '{"a":1}' });
      }
      await sleep(1_000);
      idle = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < 5 && idle >= maxIdleMs; tries++) {
        await stall();
        await sleep(500);
        idle = await stall();
      }
      expect(idle, "the idle loop: the meter counts more than the service").toBeLessThan(maxIdleMs);
    },
    expectNoStall: async (most: number, one: Door, size: number, runs = one.runs) => {
      const began = performance.now();
      for (const filling of fillingsOf(one.takes, size, { most: runs, seed })) {
        if (runs > few && performance.now() - began > enoughMs) return;
        await expectStallBelow(most, one, filling());
      }
    },
  });
}
