/**
 * `npm run bench -- <name>`: each benchmark measures its own limit in the same run, and writes JSON to `results/`. Options
 * follow: `-- operate --rows=50000`. `-- --quick`: one round each of ingest, the whole path and rivals, within five minutes.
 */
const benches: Record<string, () => Promise<{ run: (args: readonly string[]) => Promise<void> }>> = {
  ingest: () => import("./ingest.ts"),
  e2e: () => import("./e2e.ts"),
  rivals: () => import("./rivals.ts"),
  scale: () => import("./scale.ts"),
  depth: () => import("./depth.ts"),
  waiting: () => import("./waiting.ts"),
  memory: () => import("./memory.ts"),
  gateway: () => import("./gateway.ts"),
  plugins: () => import("./plugins.ts"),
  text: () => import("./text.ts"),
  start: () => import("./start.ts"),
  operate: () => import("./operate.ts"),
  rows: () => import("./rows.ts"),
  trust: () => import("./trust.ts"),
  console: () => import("./console.ts"),
};
// Programs that were started end with this one.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const names = process.argv.slice(2).filter((one) => !one.startsWith("--"));
const args = process.argv.slice(2).filter((one) => one.startsWith("--"));
const unknown = names.filter((name) => !benches[name]);
if (unknown.length > 0) {
  process.stderr.write(`There is no benchmark ${unknown.join(", ")}; there are: ${Object.keys(benches).join(", ")}\n`);
  process.exit(2);
}
const all = args.includes("--quick") ? ["ingest", "e2e", "rivals"] : Object.keys(benches);
for (const name of names.length > 0 ? names : all) await (await benches[name]?.())?.run(args);
