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

test.each([
  ...["white", "#FFF", " #ffffff ", "transparent", "rgb( 255, 255,255 )", "#fff8", "#ffffff00"],
  ...["rgba(255,0,0,0)", "rgba(255, 0, 0, 0)", "RGB(0, 0, 0, 0.0)", "rgba(0,128,0,.00)", "rgba(10%, 20%, 0%, 0%)"],
  ...["rgb(255 0 0/0)", "rgb(255 0 0 / 0%)", "rgb(0 0 0 / 0.0)", "rgb(0 0 0 / .0%)", "rgb(255 255 255 / 1)"],
  ...["hsl(0,0%,100%)", "hsla(0, 0%, 100%, 1)", "hsla(120, 50%, 100%, 50%)", "hsl(0 0% 100%)", "hsl(0 0% 100% / 100%)"],
  ...["hsl(none none 100%)", "hsl(120 100% 100)", "hsla(120, 100%, 25%, 0)", "hsl(120 100% 25% / 0%)"],
])("%s is not seen", (colour) => {
  expect(isUnseenColour(colour)).toBe(true);
  expect(styled(`color: ${colour}`)).toBe(true);
});
test.each([
  ...["#fffffe", "#fff0aa", "#fffff", "#ffffff0", "black", "", "snow"],
  ...["rgb(255,0,0)", "rgb(0,0,0)", "rgb(0,128,0)", "rgb(255,255,0)", "rgb(100%,0%,0%)", "rgba(0,0,0)"],
  ...["rgb(255, 0, 0)", "rgb( 0, 0, 0 )", "rgb(0, 128, 0)", "rgb(255, 255, 0)", "rgb(100%, 0%, 0%)"],
  ...["rgb(255 0 0)", "rgb(0 0 0)", "rgb(0 128 0)", "rgb(255 255 0)", "rgb(0 0 0 / 1)", "rgb(0 0 0 / 100%)"],
  ...[
    "rgba(255,0,0,1)",
    "rgba(0, 0, 0, 1)",
    "rgba(0,128,0,1.0)",
    "rgba(255, 255, 0, 0.5)",
    "rgba(0,0,0,100%)",
    "rgba(0,0,0,10%)",
  ],
  ...["hsl(120,100%,25%)", "hsl(120, 100%, 25%)", "hsl(120 100% 25%)", "hsl(120 100% 25)", "hsl(0, 0%, 0%)", "hsl(0 0% 0%)"],
  ...["hsl(120 100% 25%/100%)", "hsl(120 100% 25% / 100%)", "hsla(120, 100%, 25%, 100%)", "hsla(120, 100%, 0%, 1)"],
])("%s is seen", (colour) => {
  expect(isUnseenColour(colour)).toBe(false);
  expect(styled(`color: ${colour}`)).toBe(false);
});
