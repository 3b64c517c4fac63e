import { expect, test } from "vitest";
import type { Accounts } from "../plugins/accounts.ts";
import type { Connection } from "../plugins/connections.ts";
import { connectionProbe } from "./remote-probes.ts";

const account = (name: string, check: () => Promise<unknown>) => {
  const source = { name: "alpha", plugin: "alpha", adapter: { check, secrets: [] } };
  const settings = { api_url: `https://${name}.example` };
  const connection = { id: name, source, settings, rawSettings: settings, missingSettings: [] } as unknown as Connection;
  return { name: `connection:${name}`, connection };
};

test("a rate limit of one account is not reported for another account of its plugin", async () => {
  const waits = account("busy", () => new Promise(() => {}));
  const answers = account("idle", async () => ({ may_write: true }));
  const until = Date.now() + 300_000;
  const probe = connectionProbe({
    all: async () => [waits, answers],
    accounts: { of: async () => "bot" } as unknown as Accounts,
    previousUses: async () => new Map(),
    heldUntil: () => until,
  });
  expect(await probe.run(new AbortController().signal)).toMatchObject([
    {
      name: "connection:busy",
      state: "degraded",
      message: "busy.example: the rate limit is exhausted; requests are held",
      next_try_at: new Date(until).toISOString(),
    },
    { name: "connection:idle", state: "ok", message: "idle.example answers; account bot; can write" },
  ]);
});
