import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testMemory } from "@signalbox/sdk/testing";
import { afterAll, test } from "vitest";
import memorySqlite from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "signalbox-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const { name, run } of testMemory(memorySqlite, { store: "sqlite", config: { path: join(folder, "memories.sqlite") } }))
  test(name, run);
