import { expect, test } from "vitest";
import { readAnswer } from "./answer.ts";

const key = "sk-secret-key";
let masked = 0;
const mask = (text: string) => {
  masked += text.length;
  return text.replaceAll(key, "…");
};
const failureOf = (answer: unknown): string => {
  masked = 0;
  try {
    readAnswer(answer, "model", mask);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
};

test("of a large page, only the beginning is searched for keys and shown", () => {
  const page = `<html>\n\n  <p>Refused: ${key}</p>${" <p>More</p>".repeat(100_000)}`;
  const shown = "The LLM answered with text instead of JSON; check LLM_BASE_URL: <html> <p>Refused: …</p> <p>More</p>";
  for (const answer of [page, { error: { message: page } }]) {
    const failure = failureOf(answer);
    expect(failure.slice(failure.indexOf(": ") + 2)).toHaveLength(200);
    expect(masked).toBeLessThan(20_000);
  }
  expect(failureOf(page)).toContain(shown);
});

test("an answer may name the model that gave it: 200 characters are kept, and an empty name is none", () => {
  const modelOf = (named: unknown) => readAnswer({ model: named, choices: [{ message: {} }] }, "asked", mask).model;
  expect(["gpt-x", "", " ", 5, null].map(modelOf)).toEqual(["gpt-x", "asked", "asked", "asked", "asked"]);
  expect(modelOf(`${"m".repeat(199)}🦉`)).toBe(`${"m".repeat(199)}\ufffd`);
});

test("a key at the end of that beginning is not shown in part", () => {
  const failure = failureOf(`<html>${" ".repeat(9_985)}${key}${key} and more`);
  expect(failure).toMatch(/LLM_BASE_URL: <html>$/);
});
