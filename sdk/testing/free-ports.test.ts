import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { freePorts } from "./free-ports.ts";

test("servers that start at the same time get different ports", async () => {
  const ports: number[] = [];
  // Each group is free again before the next one is chosen.
  for (let group = 0; group < 10; group++) ports.push(...(await freePorts(50)));
  expect(new Set(ports).size).toBe(500);
});

test("workers and other processes never get each other's ports, however many they take", () => {
  // Together, they would take more ports than there are.
  const program = `
    import { freePorts } from ${JSON.stringify(import.meta.resolve("./free-ports.ts"))};
    const ports = [];
    for (let group = 0; group < 150; group++) ports.push(...(await freePorts(50)));
    console.log(JSON.stringify([...new Set(ports)]));`;
  const portsOf = (worker: object): number[] =>
    JSON.parse(
      execFileSync(process.execPath, ["--input-type=module", "-e", program], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, ...worker },
      }),
    );
  const all = [{ VITEST_POOL_ID: "1" }, { VITEST_POOL_ID: "2" }, {}].map(portsOf);
  expect(new Set(all.flat()).size).toBe(all.flat().length);
});
