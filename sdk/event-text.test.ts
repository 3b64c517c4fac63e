import { expect, test } from "vitest";
import { plainLine } from "./event-text.ts";

test.each([
  ["a title", "a title"],
  ["two\n lines", "two lines"],
  ["Support <template> tags", "Support \\<template> tags"],
  ["a <!-- b --> </c> <?d", "a \\<!-- b --> \\</c> \\<?d"],
  ["a < b, List<3>", "a < b, List<3>"],
  ["\\<a> \\\\<a>", "\\<a> \\\\\\<a>"],
  ["Escape `<script>` in <pre>", "Escape `<script>` in \\<pre>"],
  ["a ` b <script> `` c `", "a ` b \\<script> `` c `"],
])("%s is plain text", (text, line) => {
  expect(plainLine(text)).toBe(line);
  expect(plainLine(line)).toBe(line);
});
