import { expect, test } from "vitest";
import { ConfigError, readConfig } from "./config.ts";

const read = (API_KEYS: string) => readConfig({ API_KEYS }, "none.env").API_KEYS;
const [good, other] = ["0123456789abcdef", "fedcba9876543210"];

test.each(["a", "fifteen-letters", `   ${good.slice(1)}   `, `${good},short`, `${good}, ,x`, ",", " , "])(
  "API_KEYS=%j is refused, and not shown",
  (keys) => {
    expect(() => read(keys)).toThrow(/API_KEYS: contains (no key|a key of fewer than 16 characters)/);
    expect(() => read(keys)).not.toThrow(good.slice(1));
  },
);

const placeholders = ["$\u007bINSTALLATION_KEY}", "$SIGNALBOX_API_KEY", "<your-signalbox-api-key>", `${good},<another-api-key>`];

test.each(["operator key 0123456789", "ключ-оператора-1", `${good}\u200b`, ...placeholders])(
  "API_KEYS=%j is refused: no client can send it, or anyone can guess it",
  (keys) => expect(() => read(keys)).toThrow(/API_KEYS: contains a key with a space or .*, or a placeholder/),
);

test.each([
  [good, [good]],
  [` ${good} ,${other},`, [good, other]],
  // Real keys may contain these characters.
  ["$ecret-0123456789", ["$ecret-0123456789"]],
  ["<0123>456789<abc>", ["<0123>456789<abc>"]],
])("API_KEYS=%j is taken", (keys, taken) => expect(read(keys)).toEqual(taken));

test("ENCRYPTION_KEY of only commas is refused, because nothing would be encrypted", () => {
  const line = "ENCRYPTION_KEY: contains no key; unset it to store no credentials";
  for (const keys of [",", " , "]) expect(() => readConfig({ ENCRYPTION_KEY: keys }, "none.env")).toThrow(new ConfigError(line));
  expect(readConfig({ ENCRYPTION_KEY: `${"0f".repeat(32)},` }, "none.env").ENCRYPTION_KEY).toHaveLength(1);
});

const secrets = [
  "ALPHA_WEBHOOK_SECRET",
  "DELTA_WEBHOOK_SECRET_PREVIOUS",
  "BETA_TOKEN",
  "API_KEYS",
  "ENCRYPTION_KEY",
  "LLM_API_KEY",
  "PLUGIN_TICKETS__WEBHOOK_SECRET",
];
test.each(secrets)("%s of only spaces is refused by its name; an empty one is unset", (name) => {
  const line = `${name}: contains only spaces; set a value, or leave it empty to unset it`;
  for (const blank of [" ", "\t \n"]) expect(() => readConfig({ [name]: blank }, "none.env")).toThrow(new ConfigError(line));
  expect(readConfig({ [name]: "", TOKEN_OF_ANOTHER_PROGRAM: " ", LOG_LEVEL: " " }, "none.env").API_KEYS).toEqual([]);
});

test.each([
  "ALPHA_WEBHOOK_SECRET",
  "DELTA_WEBHOOK_SECRET_PREVIOUS",
  "BETA_TOKEN",
  "LLM_API_KEY",
  "PLUGIN_TICKETS__WEBHOOK_SECRET",
])("%s is refused if it is a placeholder, and taken if it only contains one", (name) => {
  const line = `${name}: is a placeholder that was not replaced; set a value, or leave it empty to unset it`;
  for (const placeholder of ["$SECRET", "$\u007bSECRET:-$\u007bOTHER}}", "<your secret>"])
    expect(() => readConfig({ [name]: placeholder }, "none.env")).toThrow(new ConfigError(line));
  for (const real of ["$ecret", "x$SECRET", "<a>b", "$SECRET-1"])
    expect(() => readConfig({ [name]: real }, "none.env")).not.toThrow();
});
