import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { sqliteBackend } from "./backend.ts";
import { openFile } from "./file.ts";

export default definePlugin({
  id: "memory-sqlite",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Memories in one SQLite file: words by FTS5, vectors compared one by one.",
  config: z.object({ path: z.string().min(1).default("memories.sqlite").describe("The file, from the working folder.") }),
  needs: ["vectors"],
  setup: ({ config, vectors }) => {
    const file = openFile(config.path);
    return { memories: { sqlite: sqliteBackend(file, vectors) }, dispose: () => file.close() };
  },
});
