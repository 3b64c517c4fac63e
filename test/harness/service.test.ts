import { expect, test } from "vitest";
import { issueOpened } from "./alpha-payloads.ts";
import { testOnDatabases } from "./on-databases.ts";
import { startService } from "./service.ts";

const limit = 120_000;

test("a service that cannot start is reported with what it wrote", { timeout: limit }, async () => {
  await expect(startService({ env: { PORT: "not-a-port" } })).rejects.toThrow(/ended before it served[\s\S]*PORT/);
});

testOnDatabases(
  "starts, seeds, survives kill -9 and stops cleanly",
  async (database) => {
    await using service = await startService({ database, seed: true, webhookSecret: "s3cret" });
    expect((await service.get<unknown[]>("/api/agents")).body).toHaveLength(5);
    expect((await service.webhook(issueOpened(), { secret: "wrong" })).status).toBe(401);
    const accepted = await service.webhook(issueOpened(), { delivery: "d-1" });
    expect(accepted).toMatchObject({ status: 202, body: { status: "accepted" } });

    const { pid } = service;
    expect(await service.kill()).toEqual({ code: null, signal: "SIGKILL" });
    await service.restart();
    expect(service.pid).not.toBe(pid);
    expect((await service.webhook(issueOpened(), { delivery: "d-1" })).body).toMatchObject({
      status: "duplicate",
      event_id: accepted.body.event_id,
    });
    expect(await service.stop()).toMatchObject({ code: 0 });
  },
  limit,
);
