import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run, runtimeUnderTest } from "./process.ts";

/** Starts the service, which must exit on its own, and returns its output. */
export async function refusedStart(env: Record<string, string>, file = ""): Promise<{ code: number | null; logs: string }> {
  const cwd = await mkdtemp(join(tmpdir(), "signalbox-config-"));
  if (file) writeFileSync(join(cwd, ".env"), file);
  // Separate ports, because the default ones may be in use.
  const service = run(runtimeUnderTest(), "runtime/main.ts", { cwd, env: { PORT: "0", GRPC_PORT: "0", ...env } });
  // Detects a service that serves, and is far more than a refusal takes on a busy machine.
  const limit = setTimeout(() => service.signal("SIGKILL"), 100_000);
  try {
    const { code } = await service.ended;
    return { code, logs: service.logs() };
  } finally {
    clearTimeout(limit);
    await rm(cwd, { recursive: true, force: true });
  }
}
