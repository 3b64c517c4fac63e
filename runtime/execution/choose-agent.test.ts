import { expect, test } from "vitest";
import { lockKeys, underAdvisoryLock } from "../platform/database/advisory-lock.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { chooseAgent } from "./chosen-agent-queries.ts";

const database = useTestDatabase();

test("an agent is chosen while another replica builds a vector index", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  await sql`insert into agents (id, name, role_id, prompt) values ('coder', 'Coder', 'developer', 'Code.')`;
  await sql`insert into agent_capabilities (agent_id, capability) values ('coder', 'code')`;
  const execution = { id: newId(), lease: "w:1", attempts: 1 };
  const choice = await underAdvisoryLock(database(), lockKeys.vectors, () => chooseAgent(sql, execution, ["code"]));
  expect(choice).toEqual({ id: "coder", is_paused: false });
});

test("no two locks have the same key", () => {
  expect(new Set(Object.values(lockKeys)).size).toBe(Object.keys(lockKeys).length);
});
