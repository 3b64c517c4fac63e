import { fileURLToPath } from "node:url";
import { createClient } from "@hey-api/openapi-ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Makes the client in `gen/` from the document of the API: a file, or the address of a service's own. */
const input = process.argv[2] ?? here("../../schema/gen/openapi.json");
await createClient({
  input,
  output: { path: here("./gen"), module: { extension: ".ts" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
  logs: { level: "warn" },
});
