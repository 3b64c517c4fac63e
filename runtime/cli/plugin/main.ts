#!/usr/bin/env node
// The program of @signalbox/cli: `signalbox plugin …` for authors who do not install the service.
// No static imports: on an older Node they fail before the version is checked.
await import("../node-version.ts");
const { main } = await import("../standard-streams.ts");
const { runWithoutService } = await import("./without-service.ts");
await main(runWithoutService);

export {};
