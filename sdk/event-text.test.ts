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

test.each(["\\", "<", "\\<", "<a", "\\<a", "\\\\<a"])("a line of 1 MB takes linear time: %s", (piece) => {
  const milliseconds = (size: number) => {
    const line = `<${piece.repeat(size / piece.length)}`;
    const began = process.threadCpuUsage().user;
    plainLine(line);
    return (process.threadCpuUsage().user - began) / 1_000;
  };
  expect(milliseconds(100_000)).toBeLessThan(1_000);
  expect(milliseconds(1_000_000)).toBeLessThan(5_000);
});
