import { expect, test } from "vitest";
import { freshDatabase } from "../harness/databases.ts";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

interface Status {
  readonly state: string;
  readonly checks: readonly { readonly name: string; readonly state: string; readonly message: string }[];
  readonly replicas: readonly {
    readonly this: boolean;
    readonly host: string;
    readonly silent_seconds: number | null;
    readonly started_at: string;
    readonly seen_at: string;
  }[];
}

test.concurrent("a frozen replica stays in the status and is called silent, and one that has stopped is no longer listed", {
  timeout: 240_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  const [first, second] = await Promise.all([
    startService({ databaseUrl: database.url }),
    startService({ databaseUrl: database.url }),
  ]);
  const read = async () => {
    const { body } = await first.get<Status>("/api/status");
    return { other: body.replicas.find((one) => !one.this), check: body.checks.find(({ name }) => name === "replicas"), ...body };
  };
  try {
    // Where the operating system does not show processes, one that freezes before the other starts is taken for one that was killed.
    const isBeforeAll = (at: string, all: Status["replicas"]) => all.every(({ seen_at }) => at < seen_at);
    await eventually(
      async () => {
        const { replicas } = await read();
        return replicas.length === 2 && replicas.every(({ started_at }) => isBeforeAll(started_at, replicas));
      },
      { timeout: 60_000 },
    );
    expect(await read()).toMatchObject({ check: undefined, other: { silent_seconds: null } });
    process.kill(second.pid, "SIGSTOP");
    const silent = await eventually(
      async () => {
        const { check, ...status } = await read();
        return check && { check, ...status };
      },
      { timeout: 60_000, interval: 500 },
    );
    expect(silent).toMatchObject({ state: "degraded", check: { state: "degraded" } });
    expect(silent.other?.silent_seconds).toBeGreaterThanOrEqual(30);
    expect(silent.check.message).toContain(`${silent.other?.host} (started at `);
    expect(silent.check.message).toMatch(/ for \d+ s\. /);
    process.kill(second.pid, "SIGCONT");
    await eventually(async () => (await read()).other?.silent_seconds === null, { timeout: 30_000 });
    await second.stop();
    expect((await read()).replicas).toMatchObject([{ this: true }]);
    await eventually(async () => (await read()).check === undefined, { timeout: 30_000 });
  } finally {
    // Ends a frozen process, too.
    await second.kill().catch(() => {});
    await Promise.all([first.close(), second.close()]);
  }
});

test.concurrent("a frozen replica stays in the status when another starts on its host, and one that was killed does not", {
  timeout: 240_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  const startOther = () => startService({ databaseUrl: database.url });
  const listed = async (service: Awaited<ReturnType<typeof startOther>>, count: number) =>
    eventually(
      async () => {
        const { replicas } = (await service.get<Status>("/api/status")).body;
        return replicas.length === count && replicas;
      },
      { timeout: 60_000 },
    );
  const frozen = await startOther();
  await listed(frozen, 1);
  process.kill(frozen.pid, "SIGSTOP");
  const killed = await startOther();
  try {
    await listed(killed, 2);
    await killed.kill();
    await using later = await startOther();
    const isSilent = async () => {
      const replicas = await listed(later, 2);
      return replicas.some(({ silent_seconds }) => silent_seconds !== null);
    };
    await eventually(isSilent, { timeout: 60_000, interval: 500 });
  } finally {
    await frozen.kill().catch(() => {});
    await Promise.all([frozen.close(), killed.close()]);
  }
});
