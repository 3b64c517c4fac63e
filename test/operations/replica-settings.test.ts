import { expect, test } from "vitest";
import { freshDatabase } from "../harness/databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

interface Check {
  readonly name: string;
  readonly state: string;
  readonly message: string;
}
interface Replica {
  readonly host: string;
  readonly started_at: string;
}
const statusOf = async (service: Service) => (await service.get<{ checks: Check[]; replicas: Replica[] }>("/api/status")).body;
const check = async (service: Service) => (await statusOf(service)).checks.find(({ name }) => name === "settings");

test("the status names the settings that replicas do not share", { timeout: 120_000, tags: ["postgres"] }, async () => {
  await using database = await freshDatabase();
  const env = { ENCRYPTION_KEY: "ab".repeat(32), ALPHA_TOKEN: "the-new-token-of-alpha", LLM_MODEL: "large" };
  const [first, second] = await Promise.all([
    startService({ databaseUrl: database.url, env }),
    startService({ databaseUrl: database.url, env: { ...env, ALPHA_TOKEN: "the-old-token-of-alpha", LLM_MODEL: "small" } }),
  ]);
  try {
    for (const replica of [first, second]) {
      const found = await eventually(() => check(replica), { timeout: 30_000 });
      const [older, newest] = (await statusOf(replica)).replicas.map(
        ({ host, started_at }) => `${host} (started at ${started_at})`,
      );
      const compared = `values of ALPHA_TOKEN, LLM_MODEL: ${older} differ from ${newest}, which started last. Restart`;
      expect(found).toMatchObject({ state: "degraded", message: expect.stringContaining(compared) });
    }
    await second.close();
    await eventually(async () => (await check(first)) === undefined, { timeout: 30_000 });
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});
