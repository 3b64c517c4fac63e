import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TurnLimit } from "./turn-limit.ts";

test("work begins in order, at most so much in a turn, without what is unwanted", async () => {
  const work = fc.array(fc.record({ isUnwanted: fc.boolean(), nested: fc.nat(2) }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), work, async (perTurn, items) => {
      const turns = new TurnLimit(perTurn);
      const begun: string[][] = [[]];
      const begin = (name: string) => () => void begun.at(-1)?.push(name);
      for (const [i, { isUnwanted, nested }] of items.entries()) {
        const wanted = () => {
          begin(`${i}`)();
          for (let n = 0; n < nested; n++) turns.begin(begin(`${i}.${n}`));
        };
        turns.begin(wanted, () => isUnwanted);
      }
      const inOneTurn = begun[0]?.length ?? 0;
      for (let idle = 0; idle < 2; idle += begun.at(-1)?.length === 0 ? 1 : 0) {
        begun.push([]);
        await nextTurn();
      }
      expect(inOneTurn).toBe(Math.min(perTurn, begun.flat().length));
      for (const turn of begun) expect(turn.length).toBeLessThanOrEqual(perTurn);
      const first = begun.flat().filter((name) => !name.includes("."));
      // The first ones begin at once, before anything can be withdrawn.
      const wanted = items
        .map((item, i) => ({ ...item, i }))
        .filter(({ isUnwanted, i }) => !isUnwanted || begun[0]?.includes(`${i}`));
      expect(first).toEqual(wanted.map(({ i }) => `${i}`));
      const nested = begun.flat().filter((name) => name.includes("."));
      expect(nested).toHaveLength(wanted.reduce((sum, one) => sum + one.nested, 0));
    }),
  );
});
