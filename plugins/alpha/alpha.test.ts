import { testSource, testTools } from "@signalbox/sdk/testing";
import { describe, test } from "vitest";
import { sourceFixtures, toolFixtures } from "./fixtures.ts";
import alpha from "./index.ts";

describe("alpha is a source", () => {
  for (const one of testSource(alpha, sourceFixtures)) test.concurrent(one.name, one.run, 15_000);
});

describe("alpha's tools", () => {
  for (const one of testTools(alpha, toolFixtures)) test.concurrent(one.name, one.run, 15_000);
});
