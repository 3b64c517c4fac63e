import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { anyDatabase, freshDatabase } from "../harness/databases.ts";
import { root, runProgram, runtimeUnderTest } from "../harness/process.ts";
import { eventually } from "../harness/wait.ts";

const script = runtimeUnderTest() === "deno" ? "start:deno" : "start";
const address = /listens on (http:\/\/[\d.:]+)/;

// Supervisors and scripts signal the process that they started, and that is npm.
test.each([
  ["SIGTERM", "npm"],
  ["SIGKILL", "npm"],
  ["SIGINT", "npm and the service, as by Ctrl-C"],
] as const)("the service ends with the npm that started it: %s to %s", { timeout: 120_000 }, async (signal, whom) => {
  await using database = anyDatabase() === "postgres" ? await freshDatabase() : null;
  const folder = await mkdtemp(join(tmpdir(), "signalbox-npm-"));
  const where = database ? { DATABASE_URL: database.url } : { DATA_DIR: folder };
  const npm = runProgram("npm", ["run", script], {
    cwd: root,
    group: whom !== "npm",
    env: { ...where, PORT: "0", GRPC_PORT: "0" },
  });
  const url = await eventually(async () => address.exec(npm.logs())?.[1], { timeout: 60_000 });
  expect((await fetch(`${url}/health`)).status).toBe(200);
  npm.signal(signal);
  const gone = () =>
    fetch(`${url}/health`)
      .then(() => false)
      .catch(() => true);
  await eventually(gone);
  const { code } = await npm.ended;
  if (signal !== "SIGKILL") expect(code).toBe(0);
  expect(npm.logs()).toContain(signal === "SIGKILL" ? "was killed; exiting" : `"signal":"${signal}"`);
  await rm(folder, { recursive: true, force: true });
});
