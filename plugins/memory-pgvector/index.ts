import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { pgvectorBackend } from "./backend.ts";

export default definePlugin({
  id: "memory-pgvector",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Memories in PostgreSQL, with vector search by pgvector and English full-text search.",
  config: z.object({}),
  needs: ["sql", "vectors"],
  setup: ({ sql, vectors }) => ({ memories: { pgvector: pgvectorBackend(sql, vectors) } }),
});
