import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { bundledService } from "../harness/process.ts";

/** Bytes: too few for an embedded database. */
const room = 20 * 2 ** 20;

test("a start on a full disk says so and what to do, without a stack", { tags: ["bubblewrap"], timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-full-"));
  try {
    const [port = 0, grpc = 0] = await freePorts(2);
    const { PATH = "" } = process.env;
    const settings = { PATH, HOST: "127.0.0.1", PORT: String(port), GRPC_PORT: String(grpc), DATA_DIR: join(folder, "data") };
    const sandbox = ["--dev-bind", "/", "/", "--size", String(room), "--tmpfs", folder];
    const started = spawnSync("bwrap", [...sandbox, process.execPath, join(bundledService, "main.js")], {
      env: settings,
      encoding: "utf8",
      cwd: tmpdir(),
    });
    expect([started.status, started.stderr]).toEqual([1, expect.stringMatching(/^DATA_DIR: .*the disk of \S+ is full\. Free /m)]);
    expect(started.stderr).not.toMatch(/^\s+at /m);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
