import { expect, test } from "vitest";
import { idleStall, maxStallMs, repeat, repeatedStallOf } from "../../platform/test-stall.ts";
import { withoutAddresses } from "./show-living.ts";

test.each([
  ["connect ECONNREFUSED 10.0.0.1:5432", "connect ECONNREFUSED [address]"],
  ["at db.corp.internal:5432, localhost:80", "at [address], [address]"],
  ["x.localhost and .db.svc and a-b.cluster.local.", "x.[address] and .[address] and [address]."],
  ["[fe80::1]:80 and [::1]", "[address] and [address]"],
  ["github.com is down", "github.com is down"],
])("addresses are hidden: %s", (text, expected) => expect(withoutAddresses(text)).toBe(expected));

test.each(["a.", "a-", "[:", ":", "1.", "localhost.", "a://"])(
  "a reason of 10,000 characters of %j does not hold the event loop",
  async (piece) => {
    const idle = await idleStall();
    for (const start of ["", "["]) {
      const text = start + repeat(piece, 10_000);
      expect(await repeatedStallOf(async () => withoutAddresses(text))).toBeLessThan(maxStallMs + idle);
    }
  },
);
