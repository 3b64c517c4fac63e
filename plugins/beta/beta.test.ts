import { testSource, testTools } from "@signalbox/sdk/testing";
import { describe, test } from "vitest";
import { sourceFixtures, toolFixtures } from "./fixtures.ts";
import beta from "./index.ts";

describe("beta is a source", () => {
  for (const one of testSource(beta, sourceFixtures)) test.concurrent(one.name, one.run, 15_000);
});

describe("beta's tools", () => {
  for (const one of testTools(beta, toolFixtures)) test.concurrent(one.name, one.run, 15_000);
});
