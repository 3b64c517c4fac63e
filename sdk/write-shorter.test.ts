import { describe, expect, test } from "vitest";
import { PluginError } from "./errors.ts";
import { writeShorter } from "./write-shorter.ts";

const text = `${"Many words in a row.\n\n".repeat(500)}<sub>pm · run 7</sub>`;
const inFront = "alpha answered 422 to POST /repos/octo/app/issues/1234/comments";

/** What is written to a platform that takes so many characters, and the lengths that it refused. */
async function written(longest: number, said: string, status = 422) {
  const refused: number[] = [];
  const found = await writeShorter(text, async (shown) => {
    if (shown.length <= longest) return shown;
    refused.push(shown.length);
    throw new PluginError("invalid_input", `${inFront}: ${said}`, { status });
  });
  return { found, refused };
}

describe("a text that is refused for its length is written shorter", () => {
  test.each([
    ["Body is too long (maximum is 6000 characters)", 6_000, 1],
    ["The entered text is too long. It exceeds the allowed limit of 6,000 characters.", 6_000, 1],
    ["Der eingegebene Text überschreitet die Grenze von 6.000 Zeichen.", 6_000, 1],
    ['{"note":["is too long"]}', 3_000, 3],
    ["Request Entity Too Large", 6_000, 2],
  ])("%s", async (said, longest, refusals) => {
    const { found, refused } = await written(longest, said);
    expect(refused).toHaveLength(refusals);
    expect(found.length).toBeGreaterThan(longest / 3);
    expect(found).toMatch(/The end is missing\.\n\n<sub>pm · run 7<\/sub>$/);
  });

  test("by its status alone", async () => {
    expect((await written(6_000, "", 413)).found).toContain("Cut off");
  });
});

test("other refusals, and those of a short text, are errors", async () => {
  for (const [error, body] of [
    [new PluginError("invalid_input", `${inFront}: body can't be blank`), text],
    [new PluginError("unauthorized", "alpha answered 403 to POST /x: too long ago"), text],
    [new PluginError("invalid_input", `${inFront}: too long`), "short"],
  ] as const) {
    let calls = 0;
    const refuse = async () => {
      calls++;
      throw error;
    };
    await expect(writeShorter(body, refuse)).rejects.toBe(error);
    expect(calls).toBe(1);
  }
});

test("if a platform refuses every length, its error is thrown", async () => {
  await expect(written(0, "is too long")).rejects.toMatchObject({ code: "invalid_input" });
});
