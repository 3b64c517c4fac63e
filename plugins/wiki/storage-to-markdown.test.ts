import fc from "fast-check";
import { expect, test } from "vitest";
import { storageToMarkdown } from "./storage-to-markdown.ts";

const macro = (name: string, inner: string) => `<ac:structured-macro ac:name="${name}">${inner}</ac:structured-macro>`;

const panel = (colour: string, body: string) =>
  `<ac:structured-macro ac:name="panel"><ac:parameter ac:name="bgColor">${colour}</ac:parameter><ac:rich-text-body><p>${body}</p></ac:rich-text-body></ac:structured-macro>`;

test.each([
  ["<h1>One</h1><p>a <strong>b</strong>\n  c</p><h3>Two &amp; three</h3><p>d</p>", "# One\n\na b c\n\n### Two & three\n\nd"],
  ["<ul><li>a</li><li><p>b</p><ul><li>c</li></ul></li></ul>", "- a\n- b\n  - c"],
  [
    "<table><tbody><tr><th>A</th><th>B</th></tr><tr><td><p>1|2</p></td><td>3</td></tr></tbody></table>",
    "| A | B |\n| --- | --- |\n| 1\\|2 | 3 |",
  ],
  [
    macro(
      "code",
      '<ac:parameter ac:name="language">sh</ac:parameter><ac:plain-text-body><![CDATA[a <b>\n  # c]]></ac:plain-text-body>',
    ),
    "```sh\na <b>\n  # c\n```",
  ],
  [
    macro("info", '<ac:parameter ac:name="title">Mind</ac:parameter><ac:rich-text-body><p>the gap</p></ac:rich-text-body>'),
    "Mind\n\nthe gap",
  ],
  [
    `<p>See ${macro("jira", '<ac:parameter ac:name="server">S</ac:parameter><ac:parameter ac:name="key">AB-1</ac:parameter>')}.</p>`,
    "See AB-1.",
  ],
  ['<p><a href="https://a.example/x">here</a> <a href="javascript:alert(1)">no</a></p>', "[here](https://a.example/x) no"],
  ['<p><ac:link><ri:page ri:content-title="Run book" /></ac:link> now</p>', "Run book now"],
  ["<p># no heading</p><p>a # b</p>", "\\# no heading\n\na # b"],
  [
    "<ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-status>complete</ac:task-status><ac:task-body>do</ac:task-body></ac:task></ac:task-list>",
    "- [x] do",
  ],
  ["<style>p{}</style><p>a<br/>b</p><hr/>", "a\nb\n\n---"],
  ["<blockquote><p>a</p><p>b</p></blockquote>", "> a\n> \n> b"],
  // What readers do not see is left out.
  [
    '<p>a</p><p style="display: none">x</p><p hidden="hidden">x</p><p>b <span style="color: rgb(255,255,255);">x</span>c</p>',
    "a\n\nb c",
  ],
  ['<p>a <span style="color: rgb(255,0,0);">b</span> <span style="color: rgb(0, 128, 0)">c</span></p>', "a b c"],
  ['<p>a <span style="color: rgba(255,0,0,0);">x</span><span style="color: rgb(0 0 0 / 0%)">x</span></p>', "a"],
  ['<p style="background-color: #fff">a <span style="color: white">x <b>x</b></span></p>', "a"],
  [
    '<table><tbody><tr><th data-highlight-colour="#0747a6"><span style="color: #ffffff">A</span></th></tr></tbody></table>',
    "| A |\n| --- |",
  ],
  ['<div style="background:#000"><p style="background:#fff">a<span style="color:white">x</span></p></div>', "a"],
  ['<p data-highlight-colour="#000">a<span style="color:white">x</span></p>', "a"],
  [
    '<table><tbody><tr><td data-highlight-colour="grey">a<span style="color: #ffffff">x</span></td></tr></tbody></table>',
    "| a |\n| --- |",
  ],
  ['<p style="/*background:#000*/">a<span style="color:white">x</span></p>', "a"],
  ['<p style="background:rgba(0,0,0,0)">a<span style="color:white">x</span></p>', "a"],
  ['<p style="background:#000;background:#fff">a<span style="color:white">x</span></p>', "a"],
  ['<div style="background:#000"><p style="background:none"><span style="color:white">a</span></p></div>', "a"],
  [panel("#0747a6", '<span style="color:white">a</span>'), "a"],
  [panel("#fff", 'a<span style="color:white">x</span>'), "a"],
  [`<div style="background:#000">${panel("#fff", 'a<span style="color:white">x</span>')}</div>`, "a"],
])("%s", (storage, markdown) => {
  expect(storageToMarkdown(storage).replace(/ +$/gm, "")).toBe(markdown.replace(/ +$/gm, ""));
});

test.each(["<b><i ", "<a", "<p></div></p>x", "</b></b><i ", "<ac:structured-macro><b><", "<![CDATA[<b", "<b/><i/ <u"])(
  "%s does not throw",
  (storage) => {
    expect(storageToMarkdown(storage)).toEqual(expect.any(String));
  },
);

test("reads any text", () => {
  const pieces = fc.constantFrom(
    "<",
    ">",
    "</",
    "/>",
    "<b>",
    "</b>",
    "<i ",
    "<ac:link>",
    "<![CDATA[",
    "]]>",
    "<pre>",
    "&",
    ";",
    "x",
    '"',
    "=",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
        fc.string({ unit: "binary", maxLength: 200 }),
      ),
      (storage) => void storageToMarkdown(storage),
    ),
    { numRuns: 500 },
  );
});

test("a tag cut off by the end does not close another one", () => {
  expect(storageToMarkdown("<h1>a</h1><p>b <b>c<i ")).toBe("# a\n\nb c");
});
