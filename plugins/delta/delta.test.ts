import { testSource, testTools } from "@signalbox/sdk/testing";
import { describe, test } from "vitest";
import { sourceFixtures, toolFixtures } from "./fixtures.ts";
import delta from "./index.ts";

describe("delta is a source", () => {
  for (const one of testSource(delta, sourceFixtures)) test.concurrent(one.name, one.run, 15_000);
});

describe("delta's tools", () => {
  for (const one of testTools(delta, toolFixtures)) test.concurrent(one.name, one.run, 15_000);
});
