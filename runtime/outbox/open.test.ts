import { expect, test } from "vitest";
import { openOutbox } from "./open.ts";
import { SecretFinder } from "./secret-finder.ts";

let secrets = new SecretFinder([]);
const outbox = openOutbox({
  sql: undefined as never,
  policies: { during: () => () => ({ allow: { value: [] } }) } as never,
  secrets: () => secrets,
  footer: { enabled: false, publicUrl: null },
  alarm: () => {},
  recordRefusal: async () => {},
});
const run = { id: "1", event_id: null, project_id: null, source: "alpha", project: null, issue: null };

/** Number of ticks of the event loop that other work gets meanwhile. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test.each(["*_", "`", "<b>", "@a ", "aGVsbG8gd29ybGQ="])("a long text of %j is worked on in several turns", async (piece) => {
  const text = piece.repeat(2 ** 20 / piece.length);
  expect(await turnsOf(() => outbox.of(run, null).answer(text, null))).toBeGreaterThanOrEqual(2);
});

test("a short text is worked on at once", async () => {
  expect(await turnsOf(() => outbox.of(run, null).answer("Done.", null))).toBe(0);
});

test("a text that was checked is checked again if the secrets have changed", async () => {
  const own = outbox.of(run, null);
  const text = "The value is s3cr3t-s3cr3t-s3cr3t.";
  expect([own.withoutSecrets(text), await own.answer(text, null)]).toEqual([text, text]);
  secrets = new SecretFinder([{ name: "TOKEN", value: "s3cr3t-s3cr3t-s3cr3t" }]);
  expect([own.withoutSecrets(text), await own.answer(text, null)]).not.toContain(text);
});
