import { parseArgs } from "node:util";
import type { Flavour } from "../harness/databases.ts";

export interface ChaosOptions {
  readonly seed: number;
  /** Maximum time with faults. */
  readonly minutes: number;
  /** The sender stops after this number of executions; `null`: no limit. */
  readonly executions: number | null;
  /** EXECUTION_LEASE_SECONDS. */
  readonly lease: number;
  readonly replicas: number;
  readonly redis: boolean;
  readonly database: Flavour;
  /** Seconds without faults at the start, for comparison. */
  readonly calm: number;
  /** Mean seconds between two faults. */
  readonly pause: number;
  /** Changes to the weights of faults, by name. */
  readonly weights: Readonly<Record<string, number>>;
  /** The probabilities of the trackers' and the model's faults are multiplied by it. */
  readonly trouble: number;
  /** Number of executions that the sender keeps unfinished. */
  readonly backlog: number;
  /** Runs this scenario instead of the mix; `all` runs every scenario. */
  readonly window: string | null;
  readonly times: number;
  /** Folder for the replicas' logs. */
  readonly logs: string | null;
}

const text = (value: string) => ({ type: "string", default: value }) as const;

/** Reads the command line. Throws an Error with the reason. */
export function readOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: text("1"),
      minutes: text("0.75"),
      executions: text(""),
      lease: text("8"),
      replicas: text("3"),
      database: text(process.env.TEST_DATABASE_URL ? "postgres" : "embedded"),
      calm: text("10"),
      pause: text("1"),
      weights: text(""),
      trouble: text("1"),
      backlog: text("96"),
      window: text(""),
      times: text("4"),
      logs: text(""),
      redis: { type: "boolean", default: false },
    },
  });
  const number = (name: "seed" | "minutes" | "lease" | "replicas" | "calm" | "pause" | "trouble" | "backlog" | "times") => {
    const value = Number(values[name]);
    if (!(value >= 0)) throw new Error(`--${name} must be a number; it is "${values[name]}"`);
    return value;
  };
  const { database } = values;
  if (database !== "embedded" && database !== "postgres")
    throw new Error(`--database must be postgres or embedded; it is "${database}"`);
  if (database === "postgres" && !process.env.TEST_DATABASE_URL) throw new Error("--database postgres needs TEST_DATABASE_URL");
  if (values.redis && !process.env.TEST_REDIS_URL) throw new Error("--redis needs TEST_REDIS_URL");
  return {
    seed: number("seed"),
    minutes: number("minutes"),
    lease: number("lease"),
    calm: number("calm"),
    pause: number("pause"),
    trouble: number("trouble"),
    backlog: number("backlog"),
    times: number("times"),
    executions: values.executions === "" ? null : Number(values.executions),
    // The embedded database supports only one process.
    replicas: database === "embedded" ? 1 : number("replicas"),
    redis: values.redis,
    database,
    weights: weightsOf(values.weights),
    window: values.window || null,
    logs: values.logs || null,
  };
}

/** `kill=10,pg-cut=0` */
function weightsOf(given: string): Record<string, number> {
  const pairs = given.split(",").filter((part) => part !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = "", weight] = pair.split("=");
      if (!(Number(weight) >= 0)) throw new Error(`--weights must read like kill=10,pg-cut=0; "${pair}" does not`);
      return [name, Number(weight)];
    }),
  );
}
