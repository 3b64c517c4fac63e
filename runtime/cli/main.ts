#!/usr/bin/env node
// No static imports: on an older Node they fail before this check can run.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (!("Deno" in globalThis) && (major < 22 || (major === 22 && minor < 18))) {
  process.stderr.write(
    `signalbox requires Node 22.18 or newer, or Deno 2. This is Node ${process.versions.node} (${process.execPath}). Install a newer version from https://nodejs.org.\n`,
  );
  process.exit(1);
}
const { main } = await import("./process.ts");
const { run } = await import("./run.ts");
await main(run);
