import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ConnectionPool } from "./pool.ts";
import { testServer } from "./test-database.ts";
import { isUnavailable } from "./unavailable.ts";

describe("a pool", { tags: ["postgres"] }, () => {
  const server = new URL(testServer ?? "postgres://none");
  const sockets = new Set<Socket>();
  let broken = false;
  /** Port of a server that answers nothing, to which every second connection goes. */
  let silentPort = 0;
  let attempts = 0;
  let pool: ConnectionPool;
  const openPool = (options: { max: number; deadlineMs: number; growAfterMs?: number; probe?: () => PromiseLike<unknown> }) => {
    const stream = () => {
      const isSilent = silentPort > 0 && attempts++ % 2 === 1;
      const socket = connect(broken ? 9 : isSilent ? silentPort : Number(server.port), server.hostname);
      sockets.add(socket);
      return socket;
    };
    pool = new ConnectionPool({
      url: server.href,
      settings: {},
      first: "set application_name = 'pool-test'",
      stream,
      ...options,
    });
    return pool.sql;
  };
  /** Stops reading: silence, as after a packet filter has forgotten the connections. */
  const silence = () => {
    for (const socket of sockets) socket.pause();
    sockets.clear();
  };
  afterEach(async () => {
    broken = false;
    silentPort = 0;
    await pool.close();
    sockets.clear();
  });
  const pidOf = async (sql: ConnectionPool["sql"]) => (await sql<[{ pid: number }]>`select pg_backend_pid() as pid`)[0].pid;
  const failed = (error: unknown) => (isUnavailable(error) ? "unavailable" : error);

  test("an unanswered statement fails at its deadline with those behind it; the next gets a new connection", async () => {
    const sql = openPool({ max: 1, deadlineMs: 4_000 });
    const before = await pidOf(sql);
    silence();
    const all = await Promise.all([1, 2, 3].map((n) => sql`select ${n}::int as n`.catch(failed)));
    expect(all).toEqual(["unavailable", "unavailable", "unavailable"]);
    expect(await pidOf(sql)).not.toBe(before);
  });

  test("a transaction that is cut off fails whole, also what it had not sent", async () => {
    const sql = openPool({ max: 1, deadlineMs: 4_000 });
    const result = sql
      .begin(async (tx) => {
        await tx`select 1`;
        silence();
        await Promise.all([tx`select 2`, tx`select 3`, tx`select 4`]);
      })
      .catch(failed);
    expect(await result).toBe("unavailable");
    expect(await sql`select 5 as n`).toMatchObject([{ n: 5 }]);
  });

  test("an orderly end of the connection while a statement waits for it loses nothing", async () => {
    const sql = openPool({ max: 2, deadlineMs: 20_000 });
    const admin = openAdmin();
    try {
      const pid = await pidOf(sql);
      const slow = sql`select pg_sleep(60)`.catch(failed);
      await admin`select pg_terminate_backend(${pid}::int)`;
      expect([await slow, await sql`select 1 as n`]).toMatchObject(["unavailable", [{ n: 1 }]]);
    } finally {
      await admin.end();
    }
  });

  test("a refused connection fails at once, and the first statement after the return succeeds", async () => {
    const sql = openPool({ max: 3, deadlineMs: 20_000 });
    broken = true;
    const all = await Promise.all(Array.from({ length: 9 }, () => sql`select 1`.catch((error) => String(error))));
    expect(new Set(all)).toEqual(
      new Set([expect.stringMatching(/^DatabaseUnavailable: The database is unavailable \(.*ECONNREFUSED\)\.$/)]),
    );
    broken = false;
    expect(await sql`select 1 as n`).toMatchObject([{ n: 1 }]);
  });

  test("statements that begin together share one connection; another is opened only if it stays in use", async () => {
    const sharing = openPool({ max: 3, deadlineMs: 20_000, growAfterMs: 60_000 });
    const pids = await Promise.all([pidOf(sharing)]);
    for (const pid of await Promise.all(Array.from({ length: 10 }, () => pidOf(sharing)))) pids.push(pid);
    expect(new Set(pids).size).toBe(1);
    await pool.close();
    const sql = openPool({ max: 3, deadlineMs: 20_000 });
    const first = await pidOf(sql);
    const slow = sql`select pg_sleep(60)`.catch(failed);
    expect(await pidOf(sql)).not.toBe(first);
    await sql`select pg_terminate_backend(${first}::int)`;
    expect(await slow).toBe("unavailable");
  });

  test("a connection attempt without an answer delays no other", async () => {
    const silent = createServer().listen(0, server.hostname);
    await once(silent, "listening");
    silentPort = (silent.address() as AddressInfo).port;
    const sql = openPool({ max: 10, deadlineMs: 20_000 });
    await pidOf(sql);
    const count = 4;
    let begun = 0;
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const hold = () =>
      sql.begin(async (tx) => {
        const pid = await pidOf(tx as never);
        if (++begun === count) resolve();
        await all;
        return pid;
      });
    const pids = await Promise.all(Array.from({ length: count }, hold)).finally(resolve);
    expect(new Set(pids).size).toBe(count);
    silent.close();
  });

  test("a long statement continues while the server answers a probe, and fails otherwise", async () => {
    let answers = true;
    const sql = openPool({
      max: 1,
      deadlineMs: 600_000,
      probe: async () => {
        if (!answers) throw Object.assign(new Error("silent"), { code: "DATABASE_UNAVAILABLE" });
      },
    });
    expect(await sql`select 1 as n from (select pg_sleep(0.1)) slept`).toMatchObject([{ n: 1 }]);
    answers = false;
    expect(await sql`select pg_sleep(60)`.catch(failed)).toBe("unavailable");
  });

  test("transactions and reserved connections do not mix; a failure rolls back even if it is caught", async () => {
    const sql = openPool({ max: 2, deadlineMs: 20_000 });
    await sql`create temp table if not exists nothing ()`;
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const both = Promise.all(begun.map(({ promise }) => promise));
    const pidIn = (n: number) =>
      sql.begin(async (tx) => {
        begun[n]?.resolve();
        await both;
        return pidOf(tx as never);
      });
    const [one, two] = await Promise.all([pidIn(0), pidIn(1)]);
    expect(one).not.toBe(two);
    const held = await sql.reserve();
    const pids = await Promise.all([pidOf(held as never), pidOf(held as never), pidOf(sql)]);
    held.release();
    expect([pids[0] === pids[1], pids[0] === pids[2]]).toEqual([true, false]);
    const caught = sql.begin(async (tx) => {
      await tx`select 1 / 0`.catch(() => {});
    });
    await expect(caught).rejects.toMatchObject({ code: "22012" });
    const mapped = sql.begin(async (tx) => {
      await tx`select 1 / 0`.catch(() => {
        throw new Error("mapped");
      });
    });
    await expect(mapped).rejects.toThrow("mapped");
  });

  test("parts of statements, names and arrays", async () => {
    const sql = openPool({ max: 1, deadlineMs: 20_000 });
    const part = sql`${1}::int + ${2}::int`;
    const parts = [sql`a.x > ${0}`, sql`and a.x < ${9}`];
    const rows =
      await sql`select ${part} as sum, a.x, ${["a", "b,c"]}::text[] as texts, ${[]}::int[] as none, array[1, null]::int[] as some, ${[true, false]}::boolean[] as flags
      from (values (3)) ${sql("a")} (x) where ${parts as never}`;
    expect(rows).toMatchObject([{ sum: 3, x: 3, texts: ["a", "b,c"], none: [], some: [1, null], flags: [true, false] }]);
  });

  const openAdmin = () => new ConnectionPool({ url: server.href, settings: {}, first: null, max: 1, deadlineMs: 20_000 }).sql;
});
