/** `npm run bench -- <name>`: each benchmark measures its own limit in the same run. */
const benches: Record<string, () => Promise<{ run: () => Promise<void> }>> = {
  ingest: () => import("./ingest.ts"),
  e2e: () => import("./e2e.ts"),
  memory: () => import("./memory.ts"),
  gateway: () => import("./gateway.ts"),
  plugins: () => import("./plugins.ts"),
  text: () => import("./text.ts"),
};
const names = process.argv.slice(2);
const unknown = names.filter((name) => !benches[name]);
if (unknown.length > 0) {
  process.stderr.write(`There is no benchmark ${unknown.join(", ")}; there are: ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
for (const name of names.length > 0 ? names : Object.keys(benches)) await (await benches[name]?.())?.run();
