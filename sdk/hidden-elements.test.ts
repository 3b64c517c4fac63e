import { expect, test } from "vitest";
import { isHiddenElement, isUnseenColour } from "./hidden-elements.ts";

const styled = (style: string) => isHiddenElement("span", [["style", style]]);

test("an element is hidden by its name, an attribute or its style", () => {
  expect(isHiddenElement("script", [])).toBe(true);
  expect(isHiddenElement("p", [["hidden", ""]])).toBe(true);
  expect(isHiddenElement("input", [["type", "HIDDEN"]])).toBe(true);
  for (const style of [
    "display: none",
    "a:b;VISIBILITY:hidden",
    "font-size:0",
    "color: #FFF",
    "color:rgb(255, 255, 255)",
    "opacity:0",
    "color:red;color:white",
    "color:;color:white",
    "color:white;color:red",
    "color:#ffffffff",
    "color:#ffffff00",
    "color:#fff8",
    "font: 0/1 serif",
    "font-size:0.0em",
    "font-size:0.1px",
  ])
    expect([style, styled(style)]).toEqual([style, true]);
  for (const style of [
    "display:block",
    "color:#fff0aa",
    "background-color:white",
    "opacity:0.5",
    "width:10px",
    "font-size: 0.9em",
    "font: 0.875rem/1.5 serif",
    "",
  ])
    expect([style, styled(style)]).toEqual([style, false]);
});

test("white text is seen on a background", () => {
  expect(isHiddenElement("span", [["style", "color:white"]], { onColour: true })).toBe(false);
  expect(isHiddenElement("font", [["color", "white"]], { onColour: true })).toBe(false);
  expect(isHiddenElement("span", [["style", "color:white;display:none"]], { onColour: true })).toBe(true);
});

test.each(["white", "#FFF", " #ffffff ", "transparent", "rgb( 255, 255,255 )", "#fff8", "#ffffff00"])(
  "%s is not seen",
  (colour) => {
    expect(isUnseenColour(colour)).toBe(true);
  },
);
test.each(["#fffffe", "#fff0aa", "#fffff", "#ffffff0", "black", "", "snow"])("%s is seen", (colour) => {
  expect(isUnseenColour(colour)).toBe(false);
});
