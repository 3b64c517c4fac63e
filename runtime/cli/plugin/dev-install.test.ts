import { expect, test } from "vitest";
import { devVersion } from "./dev-install.ts";

test.each([
  ["0.1.0", "0.1.0-dev.7"],
  ["1.0.0-rc.1", "1.0.0-rc.1.dev.7"],
  ["1.2.3+linux", "1.2.3-dev.7"],
  ["1.2.3-beta+linux", "1.2.3-beta.dev.7"],
])("a development version of %s is %s", (version, expected) => {
  expect(devVersion(version, 7)).toBe(expected);
});
