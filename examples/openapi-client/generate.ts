import { fileURLToPath } from "node:url";
import { createClient } from "@hey-api/openapi-ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Generates the client in `gen/` from the OpenAPI document: a file, or the URL of a service's document. */
const input = process.argv[2] ?? here("../../schema/gen/openapi.json");
await createClient({
  input,
  output: { path: here("./gen"), module: { extension: ".ts" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
  logs: { level: "warn" },
});
