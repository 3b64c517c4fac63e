import type { Output } from "@signalbox/schema/operation";
import type { get } from "@signalbox/schema/status";
import { expect, test } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import type { Context } from "../platform/operation.ts";
import { statusOperation } from "./operations.ts";

type Check = Output<typeof get>["checks"][number];

test("a database that stopped answering after its last check is named as the reason why the service is stopped", async () => {
  const check = (name: string, state: Check["state"]): Check => {
    return { name, state, since: "2026-01-01T00:00:00.000Z", message: "as it was", next_try_at: null, connection: null };
  };
  const silent = (() => {
    throw new Error("the connection was lost");
  }) as unknown as Sql;
  const statusOf = async (checks: Check[]) => {
    const parts = { board: { read: async () => checks }, replica: "r", silentSeconds: 60 };
    const operation = statusOperation({ ...parts, hostOf: async () => null, installedPluginOf: () => null });
    return (await operation.run({}, { sql: silent } as unknown as Context)) as Output<typeof get>;
  };
  const { state, queue, checks } = await statusOf([check("database", "ok"), check("model", "ok")]);
  expect({ state, queue }).toEqual({ state: "stopped", queue: null });
  expect(checks).toEqual([
    {
      ...check("database", "failed"),
      since: expect.not.stringMatching(/^2026-01-01/),
      message: expect.stringContaining("does not answer"),
    },
    check("model", "ok"),
  ]);
  // A check that failed by itself knows the cause.
  expect((await statusOf([check("database", "failed")])).checks).toEqual([check("database", "failed")]);
});
