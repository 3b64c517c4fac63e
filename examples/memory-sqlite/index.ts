import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { sqliteBackend } from "./backend.ts";
import { openFile } from "./file.ts";

export default definePlugin({
  id: "memory-sqlite",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Memories in one SQLite file, with FTS5 text search and exact vector search.",
  config: z.object({
    path: z.string().min(1).default("memories.sqlite").describe("Path of the file, relative to the working directory."),
  }),
  needs: ["vectors"],
  setup: ({ config, vectors }) => {
    const file = openFile(config.path);
    return { memories: { sqlite: sqliteBackend(file, vectors) }, dispose: () => file.close() };
  },
});
