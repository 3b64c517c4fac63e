import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { usageOperation } from "../usage/operations.ts";
import { pass } from "./run.ts";
import { days, insertTestEvent } from "./test-events.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => [usageOperation]);
}, 60_000);
afterAll(() => door?.close());

test("the usage of a chat stays after retention removed the chat, also if an execution of its day is still held", async () => {
  const { sql } = door;
  const run = (transcriptDays: number) => {
    const limits = { ...days, RETENTION_TRANSCRIPT_DAYS: transcriptDays };
    return pass({ sql, log: noLog, days: limits, embedded: true }, "test", new AbortController().signal);
  };
  const tokens = async () => (await door.get("/api/usage?group_by=model")).body.tokens;
  await insertTestEvent(sql, { ago: 50, state: "held" });
  const at = new Date(Date.now() - 50 * 86_400_000).toISOString();
  await sql`
    insert into execution_steps (id, seq, kind, state, name, agent_id, prompt_tokens, completion_tokens, created_at)
    values (${newId()}, 0, 'model', 'succeeded', 'large', 'chatter', 70, 7, ${at})`;
  await run(60);
  expect(await tokens()).toEqual({ prompt: 170, completion: 17, total: 187 });
  expect(await run(30)).toMatchObject({ tool_calls: 1 });
  expect(await run(30)).toMatchObject({ tool_calls: 0 });
  expect(await tokens()).toEqual({ prompt: 170, completion: 17, total: 187 });
});
