import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePath } from "./path-pattern.ts";
import { repeatedStallOf } from "./test-stall.ts";

describe("compilePath", () => {
  it.each([
    ["/webhook/acme/:team", "/webhook/acme/payments", { team: "payments" }],
    ["/webhook/acme/:team", "/webhook/acme/a%20b", { team: "a b" }],
    ["/webhook/acme/:team", "/webhook/acme/a/b", null],
    ["/webhook/acme/:team", "/webhook/acme/", null],
    ["/webhook/acme/:team", "/webhook/other/x", null],
    ["/webhook/acme", "/webhook/acme", {}],
    ["/webhook/acme/:team{/:project_id}?", "/webhook/acme/x", { team: "x" }],
    ["/webhook/acme/:team{/:project_id}?", "/webhook/acme/x/7", { team: "x", project_id: "7" }],
    ["/webhook/:org/team-:id", "/webhook/a/team-9", { org: "a", id: "9" }],
    ["/webhook/acme/*", "/webhook/acme/any/thing", {}],
  ])("%s on %s gives %j", (pattern, path, expected) => expect(compilePath(pattern)(path)).toEqual(expected));

  it.each([
    "",
    "/",
    "/webhook",
    "/webhook/",
    "/api/x",
    "https://x.test/webhook/a",
    "webhook/acme",
    "/webhook/a?x=1",
    "/webhook/a#b",
    "/webhook/(a+)+",
    "/webhook/:id(\\d+)",
    "/webhook/:a:b",
    "/webhook/:a-:b",
    "/webhook/*/x",
    "/webhook/:path+",
    "/webhook/:path*",
    "/webhook/a//b",
    "/webhook/:a?/:b?/:c?/:d?",
    "/webhook/{a",
    "/webhook/a b",
    "/webhook/:a/:a",
  ])("refuses %j", (pattern) => expect(() => compilePath(pattern)).toThrow(/must be|may have|is not/));

  it.each([
    ["segments", "/aa".repeat(97)],
    ["long segments", `/${"a".repeat(47)}`.repeat(6)],
    ["names", "/:aa".repeat(70)],
    ["names with a start", "/a:aa".repeat(55)],
    ["optional parts", "{/aa}?".repeat(48)],
    ["optional names", "{/:aa}?".repeat(40)],
  ])("refuses 300 characters of %s at once", async (_, parts) => {
    const refuse = async () => expect(() => compilePath(`/webhook/x${parts} `)).toThrow("must be segments");
    expect(await repeatedStallOf(refuse)).toBeLessThan(50);
  });

  it("gives back what was put into its parameters", () => {
    const name = fc.stringMatching(/^[a-z]{1,8}$/);
    const value = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !/^\.{1,2}$/.test(text) && text.isWellFormed());
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, minLength: 1, maxLength: 6 }), (parts) => {
        const match = compilePath(`/webhook/x${parts.map(([key]) => `/:${key}`).join("")}`);
        const path = `/webhook/x${parts.map(([, text]) => `/${encodeURIComponent(text)}`).join("")}`;
        expect(match(path)).toEqual(Object.fromEntries(parts));
      }),
    );
  });

  it("accepts any text as a pattern or refuses it with a reason, and is fast on any path", async () => {
    const piece = fc.constantFrom("/webhook", "/", ":a", ":b", "*", "{/:c}?", "x", "-", "?", "(", ")", "+", "%2", "é");
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 14 }), fc.stringMatching(/^[a/-]{0,1500}$/), async (pieces, path) => {
        let match: (path: string) => unknown;
        try {
          match = compilePath(pieces.join(""));
        } catch (error) {
          return void expect(String(error)).toMatch(/^Error: (must|may|is not)/);
        }
        expect(await repeatedStallOf(async () => match(`/webhook/${path}`), 200)).toBeLessThan(200);
      }),
    );
  });
});
