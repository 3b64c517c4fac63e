import { expect, test } from "vitest";
import { freePorts } from "./free-ports.ts";

test("servers that start at the same time get different ports", async () => {
  const ports: number[] = [];
  // Each group is free again before the next one is chosen.
  for (let group = 0; group < 10; group++) ports.push(...(await freePorts(50)));
  expect(new Set(ports).size).toBe(500);
});
