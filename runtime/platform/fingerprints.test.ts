import { expect, test } from "vitest";
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
  const open = { ...settings, ENCRYPTION_KEY: undefined };
  expect(fingerprintsOf(open)).toMatchObject({ ALPHA_TOKEN: "set", LLM_MODEL: expect.stringMatching(/^[0-9a-f]{8}$/) });
  expect(differences([open, { ...open, ALPHA_TOKEN: "other" }].map(fingerprintsOf))).toEqual([]);
});
