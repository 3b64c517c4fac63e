import { readdirSync, readFileSync } from "node:fs";
import postgres from "postgres";

/** The cost of some work, independent of other work on the machine, so without wall times. */
export interface Cost {
  /** CPU of the program, milliseconds. */
  readonly program: number;
  /** CPU of its database sessions, in milliseconds. */
  readonly database: number;
  /** Transactions; a statement outside of a transaction counts as one. */
  readonly transactions: number;
  /** Bytes that the database wrote to its log. */
  readonly wal: number;
}

/** A measured program, with its database if it has one. */
export interface Measured {
  /** Several processes: their total cost. */
  readonly pid: number | readonly number[];
  readonly database?: string | null;
}

/** Clock ticks in /proc are hundredths of a second on every Linux. */
const msPerTick = 10;

/** CPU milliseconds of a process and its threads; 0 once it has ended. */
export function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * msPerTick;
  } catch {
    return 0;
  }
}

/**
 * CPU milliseconds of the current threads of a process, measured in nanoseconds. Used for short work, where a clock tick of
 * `cpuOf` can be a twentieth of the result.
 */
export const preciseCpuOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    try {
      const [onCpu] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ");
      return sum + Number(onCpu) / 1e6;
    } catch {
      // The thread has ended meanwhile.
      return sum;
    }
  }, 0);

const programs = (pid: Measured["pid"]): number => [pid].flat().reduce((sum, one) => sum + cpuOf(one), 0);

/**
 * Runs work and returns its cost. The log of the server includes all writes, so no other program may write. The database must be
 * on this machine.
 */
export async function costOf<T>({ pid, database }: Measured, work: () => Promise<T>): Promise<{ result: T; cost: Cost }> {
  const sql = database ? postgres(database, { max: 1, onnotice: () => {}, connection: { application_name: "meter" } }) : null;
  try {
    const before = await reading(pid, sql);
    const result = await work();
    // Sessions report their statistics at most once a second.
    if (sql) await new Promise((done) => setTimeout(done, 1_200));
    const after = await reading(pid, sql);
    const sessions = [...after.sessions].map(([one, ms]) => ms - (before.sessions.get(one) ?? 0));
    const cost = {
      program: after.program - before.program,
      database: sessions.reduce((sum, ms) => sum + ms, 0),
      transactions: after.transactions - before.transactions,
      wal: after.wal - before.wal,
    };
    return { result, cost };
  } finally {
    await sql?.end();
  }
}

interface Reading {
  readonly program: number;
  readonly sessions: ReadonlyMap<number, number>;
  readonly transactions: number;
  readonly wal: number;
}

async function reading(pid: Measured["pid"], sql: postgres.Sql | null): Promise<Reading> {
  if (!sql) return { program: programs(pid), sessions: new Map(), transactions: 0, wal: 0 };
  const [row] = await sql<{ pids: number[]; transactions: string; wal: string }[]>`
    select (select array_agg(pid) from pg_stat_activity where datname = current_database() and application_name <> 'meter') as pids,
      (select xact_commit from pg_stat_database where datname = current_database()) as transactions,
      pg_current_wal_lsn() - '0/0'::pg_lsn as wal`;
  const sessions = new Map((row?.pids ?? []).map((one) => [one, cpuOf(one)]));
  return { program: programs(pid), sessions, transactions: Number(row?.transactions), wal: Number(row?.wal) };
}
