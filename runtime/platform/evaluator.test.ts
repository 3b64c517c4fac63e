import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { shortestOf } from "../../test/harness/wait.ts";
import { createEvaluator } from "./evaluator.ts";
import { stallOf } from "./test-stall.ts";

/** A machine that pauses for a second does not end its evaluations. */
const evaluator = createEvaluator(30_000);
/** With the time limit of the service. */
const limited = createEvaluator();
afterAll(() => {
  evaluator.close();
  limited.close();
});
const body = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const matches = (filter: string, value: unknown) => evaluator.matches(filter, body(value));

describe("jq", () => {
  it.each([
    ['.action == "closed" and .pull_request.merged == true', { action: "closed", pull_request: { merged: true } }, true],
    ['.action == "closed" and .pull_request.merged == true', { action: "closed", pull_request: { merged: false } }, false],
    [".a", { a: 0 }, true],
    [".a", { a: "" }, true],
    [".a", { a: null }, false],
    [".a", {}, false],
    ["empty", {}, false],
    ["false, true", {}, false],
    ["true, error", {}, true],
    ['any(.labels[]; .name | test("^bug"; "i"))', { labels: [{ name: "x" }, { name: "Bug: y" }] }, true],
    ["def f: .a; f # a comment", { a: 1 }, true],
    [". as {a: $x} | $x == 9007199254740993", {}, false],
    ['.[0]["ü"] == "𝄞"', [{ ü: "𝄞" }], true],
    ["repeat(1)", {}, true],
  ])("%s of %j is %s", async (filter, value, expected) => expect(await matches(filter, value)).toBe(expected));

  it("agrees with JavaScript on truth", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(await matches(".value", { value })).toBe(value !== null && value !== false);
      }),
      { numRuns: 40 },
    );
  });

  it("says what is wrong with a filter that fails", async () => {
    await expect(matches(".a.b", { a: 1 })).rejects.toThrow('Cannot index number with string ("b")');
    await expect(matches('error("no")', {})).rejects.toThrow("no");
    await expect(evaluator.compile(".a |")).rejects.toThrow("syntax error");
    await expect(evaluator.compile("nosuch(1)")).rejects.toThrow("nosuch/1 is not defined");
    // Valid only inside brackets.
    await expect(evaluator.compile(".a) | (.b")).rejects.toThrow("syntax error");
    await expect(evaluator.compile('import "a" as a; .')).rejects.toThrow("syntax error");
    await evaluator.compile("def f: 1; f # c");
  });

  it("sees neither the environment nor files", async () => {
    expect(await matches('env.PATH == null or (env | has("TEST_DATABASE_URL") or has("VITEST"))', {})).toBe(false);
    await expect(evaluator.compile('include "/etc/passwd"; .')).rejects.toThrow();
  });
});

describe("JSONPath", () => {
  it("takes the first node, as text", async () => {
    const found = await evaluator.extract(
      { event_type: "$.type", issue_id: "$.issues[?@.open].id", actor: "$.user", text: "$.user", action: "$.none" },
      body({ type: "made", issues: [{ id: 1 }, { id: 2, open: true }], user: { name: "ada" } }),
    );
    expect(found).toEqual({ event_type: "made", issue_id: "2", text: '{\n  "name": "ada"\n}' });
  });
});

describe("isolation", () => {
  it("ends an endless filter at its deadline, while this process and other filters continue", async () => {
    const run = (filter: string) => limited.matches(filter, body({}));
    const endless = async () => {
      const began = performance.now();
      await expect(run("def f: f; f")).rejects.toThrow("did not finish within 1000 ms");
      return performance.now() - began;
    };
    /** Whether another filter ends while two endless ones, which are evaluated separately by now, wait for each other. */
    const endsMeanwhile = async () => {
      let ended = false;
      const both = Promise.allSettled([run("def f: f; f"), run("def f: f; f")]).then((all) => {
        ended = true;
        return all.map(({ status }) => status);
      });
      const isFirst = (await run("true").catch(() => false)) && !ended;
      expect(await both).toEqual(["rejected", "rejected"]);
      return isFirst;
    };
    const stall = await stallOf(async () => {
      expect(await shortestOf(endless, 4_000)).toBeLessThan(4_000);
      let isFirst = false;
      for (let rounds = 0; rounds < 3 && !isFirst; rounds++) isFirst = await endsMeanwhile();
      expect(isFirst).toBe(true);
    });
    expect(stall).toBeLessThan(500);
  }, 60_000);

  it("lets no other filter wait for the end of one that takes long, the first time either", async () => {
    /** Whether the others end before it. */
    const areFirst = async () => {
      const patient = createEvaluator(10_000);
      try {
        expect(await patient.matches("true", body({}))).toBe(true);
        let ended = false;
        const endless = patient.matches("def f: f; f", body({})).catch((error: Error) => {
          ended = true;
          return error.message;
        });
        const others = await Promise.allSettled(Array.from({ length: 3 }, () => patient.matches(".a", body({ a: 1 }))));
        const wereFirst = !ended && others.every((other) => other.status === "fulfilled" && other.value);
        patient.close();
        expect(await endless).toEqual(wereFirst ? "the service is stopping" : expect.any(String));
        return wereFirst;
      } finally {
        patient.close();
      }
    };
    let wereFirst = false;
    for (let rounds = 0; rounds < 3 && !wereFirst; rounds++) wereFirst = await areFirst();
    expect(wereFirst).toBe(true);
  }, 100_000);

  it("ends one that takes long at its deadline, when others have been given another process", async () => {
    const short = createEvaluator(3_000);
    try {
      const endless = short.matches("def g: g; g", body({}));
      const others = Array.from({ length: 3 }, () => short.matches(".a", body({ a: 1 })));
      await expect(endless).rejects.toThrow("did not finish within 3000 ms");
      expect(await Promise.all(others)).toEqual([true, true, true]);
      expect(await short.matches("true", body({}))).toBe(true);
    } finally {
      short.close();
    }
  }, 40_000);

  it("survives a filter that eats memory", async () => {
    const greedy = createEvaluator(60_000);
    try {
      await expect(
        greedy.matches('reduce range(1e9) as $i (""; . + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")', body({})),
      ).rejects.toThrow("256 MiB");
      expect(await greedy.matches("true", body({}))).toBe(true);
    } finally {
      greedy.close();
    }
  }, 100_000);

  it("ends a JSONPath whose regular expression explodes", async () => {
    const rules = { issue_id: "$[?search(@, '^(a|a)*$')]" };
    await expect(limited.extract(rules, body([`${"a".repeat(60)}!`]))).rejects.toThrow("did not finish");
  }, 20_000);
});
