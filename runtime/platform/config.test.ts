import { expect, test } from "vitest";
import { readConfig } from "./config.ts";

const read = (API_KEYS: string) => readConfig({ API_KEYS }, "none.env").API_KEYS;
const [good, other] = ["0123456789abcdef", "fedcba9876543210"];

test.each(["a", "fifteen-letters", `   ${good.slice(1)}   `, `${good},short`, `${good}, ,x`, ",", " , "])(
  "API_KEYS=%j is refused, and not shown",
  (keys) => {
    expect(() => read(keys)).toThrow(/API_KEYS: contains (no key|a key of fewer than 16 characters)/);
    expect(() => read(keys)).not.toThrow(good.slice(1));
  },
);

test.each(["operator key 0123456789", "ключ-оператора-1", `${good}\u200b`, "$\u007bINSTALLATION_KEY}"])(
  "API_KEYS=%j is refused: no client can send it, or anyone can guess it",
  (keys) => expect(() => read(keys)).toThrow(/API_KEYS: contains a key with a space or .*, or a placeholder/),
);

test.each([
  [good, [good]],
  [` ${good} ,${other},`, [good, other]],
])("API_KEYS=%j is taken", (keys, taken) => expect(read(keys)).toEqual(taken));
