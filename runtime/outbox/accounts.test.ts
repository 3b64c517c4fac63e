import { expect, test } from "vitest";
import { defuse } from "./defuse.ts";

const options = { allow: [], participants: new Set(["ann"]), hosts: [] } as const;
const safe = (text: string) => defuse(text, options);
const read = (text: string) => text.replaceAll("\u200d", "");

test.each(["&#101;ve", "ann&#45;x", "&#x65;ve", "ann&hyphen;x", "\\-x"])("Jira's account %s is not notified", (id) => {
  const text = `[Ann](accountid:${id})`;
  expect(safe(text)).toBe(`[Ann](accountid:\u200d${id})`);
});

test.each([
  "https://linear.app/acme/profiles/eve, look",
  "<HTTPS://LINEAR.APP/acme/profiles/eve>",
  "[Ann](https://linear.app/acme/profiles/eve?x=1)",
  "[x](https://linear&#46;app/acme&sol;prof&#105;les&#x2f;eve)",
  "https://linear.app/acme/profil%65s%2Feve",
  "https://linear.app:443/acme/profiles/%65ve",
  "https://linear.app/acme/profiles/ann%2ex",
])("a profile's owner at Linear is not notified: %s", (text) => {
  expect(read(safe(text))).toBe(text);
  expect(safe(text)).toMatch(/(?:\/|;|%2F)\u200d(?:eve|%65|ann)/);
});

test.each([
  "https://linear.app/acme/profiles/Ann hi",
  "src/profiles/eve.ts",
  "`https://linear.app/acme/profiles/eve`",
  "accountid: x",
])("unchanged: %s", (text) => expect(safe(text)).toBe(text));
