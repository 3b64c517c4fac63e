import { expect, test } from "vitest";
import { backgroundsOf, showsWhiteText } from "./backgrounds.ts";

const of = (style: string) => showsWhiteText(backgroundsOf(style));

test.each([
  "background:#000",
  "color:white; Background-Color : RGB(7, 71, 166) !important",
  "background:#0747a6 none repeat scroll 0% 0%",
  "font-family:'A;B';background:black",
  "background:rgba(0,0,0,0.8)",
])("white text is seen on %s", (style) => expect(of(style)).toBe(true));

test.each([
  "background:white",
  "background:#fff",
  "background:#deebff",
  "background:#000;background:#fff",
  "background:#fff !important;background:#000",
  "background:#00",
  `background:${" none".repeat(100_000)}#000`,
  `background:#000${" ".repeat(500_000)}!important`,
  "background:#00000",
  "background:darkish",
  "background:constructor",
  "background:#000 #000",
  "background:rgb(300,300,300)",
  "background-image:url(;background:#000)",
])("white text is not seen on %.40s", (style) => expect(of(style)).toBe(false));

test.each([
  "",
  "color:white",
  "/*background:#000*/color:red",
  "/*;background:#000",
  "font-family:';background:#000'",
  "background:rgba(0,0,0,0)",
  "background:#0000",
  "background:#00000000",
  "background:none",
  "background:transparent",
])("%s shows what is behind it", (style) => expect(of(style)).toBe(undefined));
