import { testSource, testTools } from "@signalbox/sdk/testing";
import { describe, test } from "vitest";
import { serverFixtures, serverToolFixtures, sourceFixtures, toolFixtures } from "./fixtures.ts";
import gamma from "./index.ts";

describe("gamma is a source, of Cloud", () => {
  for (const one of testSource(gamma, sourceFixtures)) test.concurrent(one.name, one.run, 15_000);
});

describe("gamma is a source, of Server", () => {
  for (const one of testSource(gamma, serverFixtures)) test.concurrent(one.name, one.run, 15_000);
});

describe("gamma's tools, of Cloud", () => {
  for (const one of testTools(gamma, toolFixtures)) test.concurrent(one.name, one.run, 15_000);
});

describe("gamma's tools, of Server", () => {
  for (const one of testTools(gamma, serverToolFixtures)) test.concurrent(one.name, one.run, 15_000);
});
