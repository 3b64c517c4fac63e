import { expect, test } from "vitest";
import { markdownOf } from "./bodies.ts";
import { type Convert, conversions } from "./conversions.ts";
import { withoutUnseenText } from "./unseen-text.ts";

const convert: Convert = async (name, argument) => conversions[name](argument as never) as never;
const tooSlow: Convert = () => Promise.reject(new Error("too slow"));

test("white text that a cut leaves open is left out", async () => {
  const text = `a {color:white}${"x ".repeat(140_000)}{color}`;
  expect(await markdownOf(convert, text)).toBe("a");
  expect(await markdownOf(tooSlow, text)).not.toContain("x x");
});

test("white text is left out if a conversion fails", async () => {
  const white = { type: "text", text: "hidden", marks: [{ type: "textColor", attrs: { color: "#ffffff" } }] };
  const paragraph = { type: "paragraph", content: [{ type: "text", text: "a" }, white] };
  const panel = { type: "panel", attrs: { panelType: "custom", panelColor: "#000000" }, content: [paragraph] };
  expect(await markdownOf(tooSlow, "a{color:white}hidden{color}")).not.toContain("hidden");
  expect(await markdownOf(tooSlow, { type: "doc", content: [paragraph] })).not.toContain("hidden");
  expect(await markdownOf(tooSlow, { type: "doc", content: [panel] })).toContain("ahidden");
});

test("an escaped end of a panel does not close it", () => {
  const text = "{panel:bgColor=#000}a{color:white}x{color}";
  expect(withoutUnseenText(`${text}\\{panel}`)).toBe("{panel:bgColor=#000}a\\{panel}");
  expect(withoutUnseenText(`${text}{panel}`)).toBe(`${text}{panel}`);
});

test("coloured text is kept, transparent text is left out", () => {
  const red = "a {color:rgb(255,0,0)}red{color} {color: rgb(0, 0, 0)}black{color}";
  expect(withoutUnseenText(red)).toBe(red);
  expect(withoutUnseenText("a{color:rgba(255,0,0,0)}x{color}{color:rgb(0 0 0 / 0)}x{color}")).toBe("a");
});
