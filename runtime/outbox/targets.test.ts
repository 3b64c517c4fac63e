import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placeOf } from "./place.ts";
import { checkTarget, type TargetRules } from "./targets.ts";

describe("where a call may go", () => {
  const tool = (effect: "read" | "write", source: string | null = "alpha") =>
    ({ qualifiedName: `${source ?? "mcp"}.x`, effect, source: source === null ? null : { name: source } }) as never;
  const rules = (given: Partial<TargetRules> = {}): TargetRules => ({
    source: "alpha",
    eventPlace: { project: "Octo/App", issue: "12" },
    hosts: ["github.com"],
    targets: "issue",
    reads: "project",
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
      reason: expect.stringMatching(
        /^Refused by policy: alpha\.x may write to (?:Octo\/App#12|the project Octo\/App) only, and /,
      ),
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
    const gamma = { source: "gamma", eventPlace: { project: "CONF", issue: "CONF-12" }, hosts: ["x.atlassian.net"] };
    for (const issue of ["conf-12", "CONF-12", 12, "https://x.atlassian.net/browse/CONF-12"])
      expect(await check("write", { issue, project: "CONF" }, gamma), String(issue)).toMatchObject({ kind: "allowed" });
    for (const issue of ["CONF-13", "OPS-12"])
      expect(await check("write", { issue }, gamma)).toMatchObject({
        reason: expect.stringContaining("write to issue CONF-12 only"),
      });
    const beta = { source: "beta", eventPlace: { project: "g/s/p", issue: "!7" }, hosts: ["gitlab.com"] };
    for (const issue of ["!7", "g/s/p!7", "https://gitlab.com/g/s/p/-/merge_requests/7"])
      expect(await check("write", { issue }, beta), issue).toMatchObject({ kind: "allowed" });
    expect(await check("write", { issue: "7" }, beta)).toMatchObject({
      reason: expect.stringContaining("write to g/s/p!7 only"),
    });
    const id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    const delta = { source: "delta", eventPlace: { project: "-", issue: id }, hosts: [] };
    expect(await check("write", { issue: id.toUpperCase(), project: "x" }, delta)).toMatchObject({
      kind: "allowed",
      input: { project: "-" },
    });
    expect(await check("write", { issue: id.replace("0f", "1f") }, delta)).toMatchObject({ kind: "refused" });
  });
  test("a key or an id that finds an issue of another project is refused, also without that project's name", async () => {
    const linear = {
      source: "linear",
      eventPlace: { project: "ENG", issue: "ENG-1" },
      hosts: ["linear.app"],
      aliases: async () => [],
    };
    for (const input of [{ issue: "SEC-9" }, { issue: "sec-9", project: "ENG" }, { issue: "https://linear.app/a/issue/SEC-9" }]) {
      expect(await check("read", input, linear), JSON.stringify(input)).toMatchObject({ kind: "refused" });
      expect(await check("write", input, { ...linear, targets: "project" })).toMatchObject({ kind: "refused" });
    }
    for (const input of [{ issue: "ENG-7" }, { issue: 7, project: "ENG" }, { issue: "eng-1" }])
      expect(await check("read", input, linear), JSON.stringify(input)).toMatchObject({ kind: "allowed" });
    expect(await check("read", { issue: "NEW-9" }, { ...linear, aliases: async () => ["new"] })).toMatchObject({
      kind: "allowed",
    });
    // Plane's second envelope names no project, and its plugin finds an id in the whole workspace.
    const id = "0f8fad5b-d9cb-469f-a165-70867728950e";
    const delta = { source: "delta", eventPlace: { project: "-", issue: id }, hosts: [] };
    for (const input of [{ issue: id.replace("0f", "1f") }, { issue: id.replace("0f", "1f"), project: "-" }])
      expect(await check("read", input, delta)).toMatchObject({ kind: "refused" });
    for (const input of [{ issue: id }, { issue: id, project: "-" }])
      expect(await check("read", input, delta)).toMatchObject({ kind: "allowed" });
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
