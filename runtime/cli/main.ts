#!/usr/bin/env node
// No static imports: on an older Node they fail before the version is checked.
await import("./node-version.ts");
await import("../platform/compile-cache.ts");
const { main } = await import("./standard-streams.ts");
const { run } = await import("./run.ts");
await main(run);

export {};
