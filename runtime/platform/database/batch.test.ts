import { describe, expect, test } from "vitest";
import { batch } from "./batch.ts";
import { connectPostgres } from "./client.ts";
import { testServer } from "./test-database.ts";

describe("what arrives while a write is under way goes into the next one", () => {
  test("each gets its own result, in one write", async () => {
    const writes: number[][] = [];
    const double = batch(
      async (items: number[]) => {
        writes.push(items);
        await new Promise((done) => setTimeout(done, 5));
        return items.map((item) => item * 2);
      },
      { maxItems: 3, concurrency: 1 },
    );
    expect(await Promise.all([1, 2, 3, 4, 5].map(double))).toEqual([2, 4, 6, 8, 10]);
    expect(writes).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  test("a second write starts only once enough items wait", async () => {
    const writes: number[][] = [];
    const end: (() => void)[] = [];
    const write = batch(
      async (items: number[]) => {
        writes.push(items);
        await new Promise<void>((done) => end.push(done));
        return items;
      },
      { maxItems: 3, concurrency: 2, beside: 2 },
    );
    const turn = () => new Promise((done) => setImmediate(done));
    const all = [write(1)];
    await turn();
    all.push(write(2));
    await turn();
    expect(writes).toEqual([[1]]);
    all.push(write(3));
    await turn();
    expect(writes).toEqual([[1], [2, 3]]);
    all.push(write(4), write(5));
    await turn();
    expect(writes).toHaveLength(2);
    end[1]?.();
    await turn();
    expect(writes).toEqual([[1], [2, 3], [4, 5]]);
    all.push(write(6));
    for (let i = 0; i < 4; i++) {
      for (const done of end) done();
      await turn();
    }
    expect(await Promise.all(all)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("a failed write rejects all of its items, and the next one proceeds", async () => {
    const odd = batch(
      async (items: number[]) => {
        if (items.includes(0)) throw new Error("no zero");
        return items;
      },
      { maxItems: 2, concurrency: 1 },
    );
    const results = await Promise.allSettled([0, 1, 2].map(odd));
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  });
});

test("a write that lost a deadlock is made again", { tags: ["postgres"] }, async () => {
  const { sql, close } = connectPostgres(testServer as string, { max: 3 });
  const table = sql(`deadlock_${process.pid}`);
  try {
    await sql`create table ${table} (id int primary key, hits int not null default 0)`;
    await sql`insert into ${table} (id) values (1), (2)`;
    const write = batch(
      ([ids = []]: number[][]) =>
        sql.begin(async (tx) => {
          for (const id of ids) {
            await tx`update ${table} set hits = hits + 1 where id = ${id}`;
            await tx`select pg_sleep(0.1)`;
          }
          return [true];
        }),
      { maxItems: 1, concurrency: 2 },
    );
    expect(
      await Promise.all(
        [
          [1, 2],
          [2, 1],
        ].map(write),
      ),
    ).toEqual([true, true]);
    expect(await sql`select hits from ${table}`).toMatchObject([{ hits: 2 }, { hits: 2 }]);
  } finally {
    await sql`drop table if exists ${table}`;
    await close();
  }
});
