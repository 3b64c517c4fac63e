import { CONTRACT_VERSION, SDK_VERSION } from "@signalbox/sdk";
import { expect, test } from "vitest";
import { admitDeclared, contracts } from "./admit.ts";

/** A host during a change of the contract: it supports the current major version and the previous one with its last sdk. */
const two = new Map([
  [1, "1.9.0"],
  [2, "2.3.0"],
]);
const admit =
  (contract: number, sdk: string, served = two) =>
  () =>
    admitDeclared({ id: "sample", version: "1.0.0", needs: ["log"], contract, sdk }, new Set(), undefined, served);

test.each([
  [1, "^1.0.0"],
  [1, "^1.9.0"],
  [1, ">=1.2.0 <2"],
  [2, "^2.0.0"],
  [2, "^2.3.0"],
  // The same source for both: the sdk that it was built with decides.
  [1, "^1.2.0 || ^2.0.0"],
  [2, "^1.2.0 || ^2.0.0"],
])("a plugin of contract %i, written for sdk %s, is taken in", (contract, sdk) => {
  expect(admit(contract, sdk)).not.toThrow();
});

test.each([
  [3, "^3.0.0", "UNKNOWN_CONTRACT", "The contract of sample must be 1 or 2; it is 3."],
  [0, "^0.9.0", "UNKNOWN_CONTRACT", "The contract of sample must be 1 or 2; it is 0."],
  [2, "^2.4.0", "SDK_RANGE", "This host has sdk 2.3.0; sample 1.0.0 was written for ^2.4.0."],
  [1, "^1.10.0", "SDK_RANGE", "This host has sdk 1.9.0; sample 1.0.0 was written for ^1.10.0."],
  [1, "^2.0.0", "SDK_RANGE", "This host has sdk 1.9.0; sample 1.0.0 was written for ^2.0.0."],
  [2, "*", "SDK_RANGE", 'must be a range such as "^'],
])("a plugin of contract %i, written for sdk %s, is refused with %s", (contract, sdk, code, message) => {
  expect(admit(contract, sdk)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
});

test("this host supports its own contract and the one before", () => {
  expect(contracts.get(CONTRACT_VERSION)).toBe(SDK_VERSION);
  expect([...contracts.keys()].every((one) => one === CONTRACT_VERSION || one === CONTRACT_VERSION - 1)).toBe(true);
});
