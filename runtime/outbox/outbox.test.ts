import { cutMarkdown } from "@signalbox/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { idleStall, longestStall, mebibyte, repeated, stallOf } from "../platform/test-stall.ts";
import { defuse } from "./defuse.ts";
import { isOwn } from "./images.ts";
import { placeOf } from "./place.ts";
import { redact } from "./redact.ts";
import { SecretFinder } from "./secret-finder.ts";
import { checkTarget, type TargetRules } from "./targets.ts";

/** Shaped like no platform's key, so that it is found by its value alone. */
const secret = ["q7Zx93", "Kp0Lm2", "Vt81Wd", "s5Yb64"].join("-");
const word = "tracker-token";
const finder = new SecretFinder([
  { name: "ALPHA_TOKEN", value: secret },
  { name: "WEBHOOK", value: word },
]);
const clean = (text: string) => redact(text, finder);
const inPieces = (text: string, between: string) => [...text].join(between);

describe("values of our secrets are redacted", () => {
  const bytes = Buffer.from(secret);
  test.each([
    ["as they are", secret],
    ["in upper case", secret.toUpperCase()],
    ["in base64", bytes.toString("base64")],
    ["in base64 within other text", Buffer.from(`Bearer ${secret};`).toString("base64")],
    ["in base64url", Buffer.from(`x${secret}`).toString("base64url")],
    ["in base64 twice", Buffer.from(bytes.toString("base64")).toString("base64")],
    ["in hexadecimal", bytes.toString("hex")],
    ["percent-encoded", bytes.toString("hex").replace(/../g, "%$&")],
    ["as escapes", bytes.toString("hex").replace(/../g, "\\x$&")],
    ["as character references", inPieces(secret, "").replace(/./g, (sign) => `&#${sign.charCodeAt(0)};`)],
    ["reversed", [...secret].reverse().join("")],
    ["split by Markdown", inPieces(secret, "**")],
    ["split by blanks and lines", inPieces(secret, " \n")],
    ["split by invisible characters", inPieces(secret, "\u200b")],
    ["a half of them", secret.slice(0, 16)],
  ])("%s", (_, written) => {
    const { text, found } = clean(`The token is ${written} indeed.`);
    expect(text).toMatch(/^The token is .{0,12}\[redacted\].{0,8} indeed\.$/s);
    expect(found).toEqual(["ALPHA_TOKEN"]);
  });
  test("a secret is redacted, the words that it consists of are not", () => {
    expect(clean("The tracker token is set.").text).toBe("The tracker token is set.");
    expect(clean(`${word} and tracker**-token**`).text).toBe("[redacted] and [redacted]**");
  });
  test("short values and words are no secrets", () => {
    const words = new SecretFinder(["x", "t", "test", "secret", "demonstration"].map((value) => ({ name: "N", value })));
    expect(redact("x t test secret demonstration", words).text).toBe("x t test secret demonstration");
  });
  test("whatever surrounds it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (before, after) => {
        const { text } = clean(`${before} ${secret} ${after}`);
        expect(text).not.toContain(secret);
        expect(text).toContain("[redacted]");
      }),
    );
  });
});

describe("what looks like a key is redacted", () => {
  const body = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
  test.each([
    ["github", `gh${"p_"}${body}`],
    ["gitlab", `gl${"pat-"}${body.slice(0, 20)}`],
    ["aws", `AK${"IA"}IOSFODNN7EXAMPLQ`],
    ["slack", `xo${"xb-"}123456789012-${body}`],
    ["google", `AI${"za"}${body.slice(0, 35)}`],
    ["jwt", `ey${"J"}hbGciOiJIUzI1NiJ9.ey${"J"}zdWIiOiIxMjM0NTY3ODkwIn0.${body}`],
    ["password in a URL", "hunter2x"],
    ["private key", `-----${"BEGIN"} RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`],
  ])("%s", (name, key) => {
    const text = name.includes("URL") ? `postgres://user:${key}@db.example.com/app` : `Key: ${key}`;
    const { text: shown, found } = clean(text);
    expect(shown).toContain("[redacted]");
    expect(shown).not.toContain(key.slice(-8));
    expect(found).toEqual([`a key (${name})`]);
  });
  test("hashes, ids and prose remain", () => {
    const text =
      "Commit 3f2a9c1b7d5e4f60a8b9c0d1e2f3a4b5c6d7e8f9, id 0199b1a2-7c3d-7e4f-8a9b-0c1d2e3f4a5b, task-force, https://a@b.c";
    expect(clean(text)).toEqual({ text, found: [] });
  });
});

const options = { allow: [], participants: new Set(["ann", "bob-x"]), hosts: ["github.com", ".githubusercontent.com"] } as const;
const safe = (text: string) => defuse(text, options);
/** What people read: without the joiners. */
const read = (text: string) => text.replaceAll("\u200d", "");

describe("mentions, closing keywords and commands are defused, and read the same", () => {
  const live = {
    mention: /(?<![\w`])@(?:everyone|here|all|octo|eve|dependabot|renovate)\b/i,
    closing:
      /\b(?:close[sd]?|closing|fix(?:e[sd]|ing)?|resolve[sd]?|implements)\b:? +\S*(?:#\d|[A-Z]+-\d|\/issues\/)|[A-Z]-\d+ .*#[a-z]/i,
    command: /^\s*(?:\/[a-z]+\b(?!\/)|bors r|!deploy|\.deploy|retest this)/im,
  };
  test.each([
    "@everyone look, cc @here and @octo/team, (@eve) @all",
    "\\@everyone and **@eve**",
    "@dependabot merge",
    "Fixes #1, closes octo/app#2 and Resolves: https://github.com/o/r/issues/3",
    "fixed GH-1. Closing #4, #5 and implements group/sub/proj#6, fixes !7",
    "Fixes **#1** and closes CONF-12",
    "CONF-1 #close #comment done",
    "/close\n  /approve\n/label ~bug\ntext",
    "bors r+\n!deploy prod\n.deploy\nretest this please",
  ])("%s", (text) => {
    const shown = safe(text);
    expect(read(shown)).toBe(text);
    for (const pattern of Object.values(live)) expect(shown).not.toMatch(pattern);
  });
  test("participants are notified, also by a name at the end of a sentence; bots never", () => {
    expect(safe("Thanks @Ann and @bob-x.")).toBe("Thanks @Ann and @bob-x.");
    const bot = { ...options, participants: new Set(["dependabot[bot]", "dependabot", "ci-bot"]) };
    expect(defuse("@dependabot merge, @ci-bot go", bot)).not.toMatch(/@[a-z]/);
  });
  test("a policy may allow each", () => {
    const text = "@eve fixes #1\n/close\n![x](https://evil.example/x.png)";
    expect(defuse(text, { ...options, allow: ["mentions", "images", "closing", "commands"] })).toBe(text);
  });
  test("what a character reference hides is defused too", () => {
    expect(safe("&#64;everyone &#x40;eve &commat;eve")).toBe("&#64;\u200deveryone &#x40;\u200deve &commat;\u200deve");
  });
});

test.each([
  ["![alt](https://evil.example/x.png)", "[alt](https://evil.example/x.png)"],
  ["![](https://evil.example/x.png?d=1)", "[image](https://evil.example/x.png?d=1)"],
  ["![a][r]\n\n[r]: https://evil.example/x", "[a][r]\n\n[r]: https://evil.example/x"],
  ["![a](data:image/png;base64,AAAA)", "[image: a]"],
  ['<img src="https://evil.example/x.png" alt="a">', "[a](https://evil.example/x.png)"],
  ["<img/src=https://evil.example/x>", "&lt;img/src=https://evil.example/x>"],
  ["![a](//evil.example/x)", "[a](//evil.example/x)"],
  ["![a](&#104;ttps://evil.example)", "[a](&#104;ttps://evil.example)"],
  [
    "<picture><source srcset='https://evil.example/x'></picture>",
    "<picture>&lt;source srcset='https://evil.example/x'></picture>",
  ],
  ['<td background="https://evil.example/x">', '&lt;td background="https://evil.example/x">'],
  ["<style>p{background:url(https://evil.example)}</style>", "&lt;style>p{background:url(https://evil.example)}&lt;/style>"],
  [
    "![ok](docs/a.png) ![ok](https://user-images.githubusercontent.com/1/a.png)",
    "![ok](docs/a.png) ![ok](https://user-images.githubusercontent.com/1/a.png)",
  ],
])("images of other hosts become links: %s", (text, expected) => {
  expect(safe(text)).toBe(expected);
});
test("code is no way around: in the name of an image, in an attribute, or in more pieces than are looked at", () => {
  expect(safe("![a`x`](https://evil.example/x.png)")).toBe("[a`x`](https://evil.example/x.png)");
  expect(safe('<img alt="`x`" data-a="`y`" src="https://evil.example/x"> `z`')).not.toContain("<img");
  expect(safe(`${"`a` ".repeat(30_000)}@eve`)).toMatch(/@\u200deve$/);
  expect(safe("`a`\uffff`b` @eve")).toBe("`a``b` @\u200deve");
});

test("no text of 1 MiB takes the processor for long", async () => {
  const pieces = ["`a`\n", "`a", "`", "```\na\n```\n", "~~~\n", "@a`b`", "@", "@a ", "![a](x) ", "<img src=x>"];
  const named = { ...options, participants: new Set(["a"]) };
  const idle = await idleStall();
  const stalls: [piece: string, stall: number][] = [];
  for (const piece of pieces) {
    const text = repeated(piece, mebibyte);
    defuse(text.slice(0, 100_000), named);
    stalls.push([piece, await stallOf(async () => defuse(text, named))]);
  }
  expect(
    stalls.filter(([, stall]) => stall > longestStall + idle),
    `idle: ${idle} ms`,
  ).toEqual([]);
});

test("an ambiguous address does not count as our own", () => {
  for (const address of [
    "//evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "https://github.com@evil.example",
    "javascript:x",
  ])
    expect(isOwn(address, ["github.com"]), address).toBe(false);
});

const ordinary = [
  "## Analysis\n\nThe fault is in `load()`:\n\n```ts\n@Injectable()\nexport class A {} // fixes #1\n```\n\n| a | b |\n|---|---|\n| 1 | `@x` |\n",
  "Thanks @ann! See #12 and octo/app#3, [the docs](https://example.com/a?b=c#d) and https://example.com. 👍🏽 👨‍👩‍👧",
  "- [x] done\n- [ ] open\n\n> quoted\n\nMail ann@example.com, run `npm i @types/node`, path /usr/bin/node, 1/2, a/b.",
  "<details><summary>Log</summary>\n\n```\n/close\n@everyone\n![x](https://evil.example/x)\n```\n\n</details>\n",
  "Это исправление. مرحبا. 你好，修复了。 The fix for the closing bracket resolves it; I closed 3 tabs.",
  "Text with ~~~strike~~~, `a` and ``b ` c``, and a footnote[^1].\n\n[^1]: here\n",
];
test.each(ordinary)("an ordinary comment passes unchanged: %#", (text) => {
  expect(clean(safe(text)).text).toBe(text);
});
test("plain words pass unchanged", () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."abcdefg ABC.,;:é👍\n") }), (text) => safe(text) === text));
});

test("a long text is cut at a paragraph, and says so", () => {
  const text = `${"word ".repeat(30).trim()}\n\n`.repeat(20);
  const cut = cutMarkdown(text, 1_000);
  expect(cut.length).toBeLessThanOrEqual(1_000);
  expect(cut).toMatch(/word\n\n> \*\*Cut off\.\*\* This text has 3020 characters; a comment holds 1000\. The end is missing\.$/);
  const code = cutMarkdown(`\`\`\`\n${"line\n".repeat(1_000)}\`\`\``, 500);
  expect(code).toMatch(/line\n```\n\n> \*\*Cut off/);
  expect(cutMarkdown("short", 10)).toBe("short");
  for (const signature of ["<sub>pm · run 1</sub>", "*pm · [run 1](https://example.com/run/1)*"])
    expect(cutMarkdown(`${text.trim()}\n\n${signature}`, 1_000)).toMatch(/\n\n> \*\*Cut off[^\n]*\n\n/);
  expect(cutMarkdown(`${text.trim()}\n\n*pm · run 1*`, 1_000).endsWith("The end is missing.\n\n*pm · run 1*")).toBe(true);
});

describe("where a call may go", () => {
  const tool = (effect: "read" | "write", source: string | null = "alpha") =>
    ({ qualifiedName: `${source ?? "mcp"}.x`, effect, source: source === null ? null : { name: source } }) as never;
  const rules = (given: Partial<TargetRules> = {}): TargetRules => ({
    ...{ source: "alpha", own: { project: "Octo/App", issue: "12" }, hosts: ["github.com"], targets: "issue", reads: "project" },
    aliases: async () => ["4711"],
    ...given,
  });
  const check = async (effect: "read" | "write", input: object, given?: Partial<TargetRules>) =>
    checkTarget(tool(effect, given?.source ?? "alpha"), input as never, rules(given));

  test.each([
    { issue: 12 },
    { issue: "#12", project: "octo/app" },
    { issue: " 12 ", project: "OCTO/APP/" },
    { issue: "octo/app#12" },
    { issue: "https://github.com/octo/app/issues/12" },
    { issue: "https://github.com/Octo/App/pull/12/", project: "https://github.com/octo/app" },
    { issue: "12", project: "octo%2Fapp" },
    { issue: "12", project: 4711 },
    { issue: "012", project: "octo/app.git" },
  ])("its own issue in another spelling: %j", async (input) => {
    const verdict = await check("write", input);
    expect(verdict).toMatchObject({ kind: "allowed" });
    if (verdict.kind === "refused") return;
    const { issue, project } = verdict.input;
    expect([String(issue), project ?? "Octo/App"]).toEqual(["12", "Octo/App"]);
  });
  test.each([
    { issue: 13 },
    { issue: 12, project: "evil/app" },
    { issue: "evil/app#12", project: "octo/app" },
    { issue: "https://github.com/evil/app/issues/12" },
    { issue: "https://evil.example/octo/app/issues/12" },
    { issue: "https://github.com@evil.example/octo/app/issues/12" },
    { issue: "12", project: "octo/app/../evil" },
    { issue: "12", project: 4712 },
    { issue: "!12" },
    { project: "evil/app", name: "label" },
    { issue: "12\u200b3" },
  ])("refused: %j", async (input) => {
    const verdict = await check("write", input);
    expect(verdict).toMatchObject({
      kind: "refused",
      reason: expect.stringMatching(/^Refused by policy: alpha\.x may write to/),
    });
  });
  test("reads stay in the project, by default; policy widens both", async () => {
    expect(await check("read", { issue: 13 })).toMatchObject({ kind: "allowed", input: { issue: "13" } });
    expect(await check("read", { issue: "evil/x#1" })).toMatchObject({ kind: "refused" });
    expect(await check("read", { issue: "evil/x#1" }, { reads: "any" })).toMatchObject({ kind: "allowed" });
    expect(await check("write", { issue: 13 }, { targets: "project" })).toMatchObject({ kind: "allowed" });
    expect(await check("write", { name: "label", project: "octo/app" })).toMatchObject({ kind: "allowed" });
    expect(await checkTarget(tool("write", "beta"), { issue: 1 } as never, rules())).toMatchObject({ kind: "refused" });
    expect(await checkTarget(tool("write", null), { city: "Oslo" } as never, rules())).toMatchObject({ kind: "allowed" });
  });
  test("Jira's keys, GitLab's merge requests, Plane's ids", async () => {
    const gamma = { source: "gamma", own: { project: "CONF", issue: "CONF-12" }, hosts: ["x.atlassian.net"] };
    for (const issue of ["conf-12", "CONF-12", 12, "https://x.atlassian.net/browse/CONF-12"])
      expect(await check("write", { issue, project: "CONF" }, gamma), String(issue)).toMatchObject({ kind: "allowed" });
    for (const issue of ["CONF-13", "OPS-12"]) expect(await check("write", { issue }, gamma)).toMatchObject({ kind: "refused" });
    const beta = { source: "beta", own: { project: "g/s/p", issue: "!7" }, hosts: ["gitlab.com"] };
    for (const issue of ["!7", "g/s/p!7", "https://gitlab.com/g/s/p/-/merge_requests/7"])
      expect(await check("write", { issue }, beta), issue).toMatchObject({ kind: "allowed" });
    expect(await check("write", { issue: "7" }, beta)).toMatchObject({ kind: "refused" });
    const id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    const delta = { source: "delta", own: { project: "-", issue: id }, hosts: [] };
    expect(await check("write", { issue: id.toUpperCase(), project: "x" }, delta)).toMatchObject({
      kind: "allowed",
      input: { project: "-" },
    });
    expect(await check("write", { issue: id.replace("0f", "1f") }, delta)).toMatchObject({ kind: "refused" });
  });
  test("allowed calls are made with the event's own names, whatever their spelling", async () => {
    const part = fc.constantFrom(
      "octo",
      "app",
      "evil",
      "/",
      "#",
      "12",
      "13",
      "%2F",
      " ",
      "..",
      "https://github.com/",
      "issues/",
      "!",
      "-",
      "@",
    );
    const text = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(""));
    await fc.assert(
      fc.asyncProperty(text, fc.option(text, { nil: undefined }), async (issue, project) => {
        const verdict = await check("write", { issue, ...(project !== undefined && { project }) });
        if (verdict.kind === "refused" || issue === "") return;
        expect(verdict.input.issue).toBe("12");
        expect([undefined, "", "Octo/App"]).toContain(verdict.input.project);
      }),
    );
  });
  test("places are read from the platforms' own notations", () => {
    expect(
      placeOf(
        "delta",
        {
          issue:
            "https://app.plane.so/team/projects/0f8fad5b-d9cb-469f-a165-70867728950e/issues/1f8fad5b-d9cb-469f-a165-70867728950e",
        },
        ["app.plane.so"],
      ),
    ).toEqual({
      project: "0f8fad5b-d9cb-469f-a165-70867728950e",
      issue: "1f8fad5b-d9cb-469f-a165-70867728950e",
    });
  });
});
