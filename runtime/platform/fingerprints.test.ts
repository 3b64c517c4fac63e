import { expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { differences, fingerprintsOf } from "./fingerprints.ts";

const settings = { ENCRYPTION_KEY: ["ab"], LLM_MODEL: "small", ALPHA_TOKEN: "t0ken", PORT: 8000, MODEL_PRICES: { small: 1 } };

test("names the settings that differ, except those of the replica itself", () => {
  const other = { ...settings, LLM_MODEL: "large", ALPHA_TOKEN: undefined, PORT: 9000 };
  expect(differences([settings, other].map(fingerprintsOf))).toEqual(["ALPHA_TOKEN", "LLM_MODEL"]);
  expect(differences([settings, { ...settings, MODEL_PRICES: { small: 2 } }].map(fingerprintsOf))).toEqual(["MODEL_PRICES"]);
  expect(differences([settings, { ...settings, ENCRYPTION_KEY: ["cd"] }].map(fingerprintsOf))).toEqual(["ENCRYPTION_KEY"]);
  expect(differences([settings, settings].map(fingerprintsOf))).toEqual([]);
});

test("without ENCRYPTION_KEY, a secret has no digest", () => {
  const environment = {
    ALPHA_TOKEN: "t0ken",
    ALPHA_WEBHOOK_SECRET: "hunter2hunter2",
    API_KEYS: "k".repeat(20),
    LLM_BASE_URL: "https://me:t0ken@llm.example",
    LLM_MODEL: "small",
    PLUGIN_GITEA__URL: "https://a.example",
  };
  const of = (more = {}) => readConfig({ ...environment, ...more }, "/nonexistent").fingerprints;
  const marks = Object.fromEntries(Object.keys(environment).map((name) => [name, "set"]));
  expect(of()).toMatchObject({ ...marks, LLM_MODEL: expect.stringMatching(/^[0-9a-f]{8}$/) });
  expect(of()).not.toHaveProperty("ENCRYPTION_KEY");
  const other = { ALPHA_TOKEN: "other", API_KEYS: "z".repeat(20), LLM_BASE_URL: "https://me:other@llm.example" };
  expect(differences([of(), of(other)])).toEqual([]);
  expect(differences([of(), of({ LLM_MODEL: "large" })])).toEqual(["LLM_MODEL"]);
  const withKey = { ENCRYPTION_KEY: "ab".repeat(32) };
  expect(of(withKey).ALPHA_TOKEN).toMatch(/^[0-9a-f]{8}$/);
  expect(differences([of(), of(withKey)])).toEqual(["ENCRYPTION_KEY"]);
});
