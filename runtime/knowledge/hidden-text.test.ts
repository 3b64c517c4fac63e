import { expect, test } from "vitest";
import { cleanText } from "../untrusted/clean.ts";
import { changeOf } from "./ingest.ts";

const contentsOf = (title: string, body: string) =>
  changeOf({ id: "p", revision: "1", title, url: null, space: null, body }, []).addedChunks.map(({ content }) => content);

test("what readers of a page do not see is in no chunk, however many chunks it spans", () => {
  const long = "More words. ".repeat(400);
  const hidden = [`<!-- ${long}\n\n# Orders\n\nSECRET -->`, `<div hidden>\n\n# Orders\n\n${long} SECRET\n\n</div>`];
  for (const part of hidden)
    expect(contentsOf("Ledger", `Seen.\n\n${part}\n\nAlso seen.`).join("\n"), part.slice(0, 9)).toMatch(
      /^Ledger\n\nSeen\.\s+Also seen\.$/,
    );
});

test("a title that names an element hides nothing", () => {
  const [content = ""] = contentsOf("The <template>\nelement", "Its use.");
  expect(cleanText(content)).toBe("The \\<template> element\n\nIts use.");
});
