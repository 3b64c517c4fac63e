import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { mapLinks, parsePage, slugOf } from "../../.docs/markdown.ts";
import { sections } from "../../.docs/pages.ts";
import { root } from "../harness/process.ts";

test("the documentation is consistent: links, files, commands, operations, settings and code blocks", {
  timeout: 240_000,
}, async () => {
  const check = promisify(execFile)(process.execPath, [".docs/main.ts", "--check"], { cwd: root }).catch((error) => error);
  const { stdout, stderr } = await check;
  expect(stderr).toBe("");
  expect(stdout).toContain("The documentation is consistent");
});

test("each page of the site's sections exists, and is in one section", () => {
  const pages = sections.flatMap((section) => section.pages);
  expect(pages.filter((page) => !existsSync(join(root, page)))).toEqual([]);
  expect(pages.length).toBe(new Set(pages).size);
});

describe("how pages are read", () => {
  const page = [
    "# One",
    "",
    "[a](b.md#c) `[no](x)` ![p](p.png)",
    "```sh",
    "# no heading, [no](link)",
    "```",
    "## One",
    "## `A` & B",
  ];
  test("headings, links and blocks are recognised", () => {
    const { anchors, links, fences } = parsePage(page.join("\n"));
    expect([...anchors]).toEqual(["one", "one-1", "a--b"]);
    expect(links).toEqual([
      { target: "b.md#c", line: 3 },
      { target: "p.png", line: 3 },
    ]);
    expect(fences).toEqual([{ language: "sh", info: "", text: "# no heading, [no](link)", line: 4 }]);
  });
  test("headings get the ids that GitHub gives them", () => {
    expect(["From webhook to comment", "What's new?", "MCP (HTTP)"].map(slugOf)).toEqual([
      "from-webhook-to-comment",
      "whats-new",
      "mcp-http",
    ]);
  });
  test("links are replaced outside of code only", () => {
    expect(mapLinks("[a](b) `[c](d)`\n```\n[e](f)\n```\n[g](h)", (target) => `${target}!`)).toBe(
      "[a](b!) `[c](d)`\n```\n[e](f)\n```\n[g](h!)",
    );
  });
});
