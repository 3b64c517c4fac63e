import { expect, test } from "vitest";
import {
  isSecretHeader,
  isSecretInAuditLog,
  isSecretMember,
  isSecretParameter,
  isSecretSetting,
  isSecretVariable,
} from "./secret-names.ts";

const places = {
  variable: isSecretVariable,
  member: isSecretMember,
  header: isSecretHeader,
  setting: isSecretSetting,
  parameter: isSecretParameter,
};
const all = Object.keys(places);

test.each<[string, string[]]>([
  ["API_TOKEN", all],
  ["client_secret", all],
  ["sslpassword", all],
  ["x-api-key", all],
  ["apiKey", all],
  ["Authorization", all],
  ["TOKEN_URL", ["variable", "member", "header"]],
  ["webhook_secret_previous", ["variable", "member", "header", "setting"]],
  ["api_keys", ["variable", "member", "header", "setting"]],
  ["installation_key", ["variable", "header", "setting", "parameter"]],
  ["project_key", ["variable", "header", "setting"]],
  ["DATABASE_URL", ["variable"]],
  ["cookie", ["member", "header"]],
  ["session", ["header"]],
  ["x-hub-signature-256", ["header"]],
  ["sig", ["parameter"]],
  ["AWSAccessKey", ["variable", "header", "parameter"]],
  ["api%5Fkey", ["variable", "header", "parameter"]],
  ["keyword", ["variable", "header"]],
  ["name", []],
  ["design", []],
])("%s is a secret as %j", (name, where) => {
  expect(all.filter((place) => places[place as keyof typeof places](name))).toEqual(where);
});

test.each([
  ["keys", true],
  ["key1", true],
  ["signingKey2", true],
  ["X-Amz-Signature-V4", true],
  ["sig2", true],
  ["pwd", true],
  ["cookie", true],
  ["project_key", false],
  ["sort_key", false],
  ["assignee", false],
  ["design", false],
  ["page", false],
])("the audit log masks the parameter %s: %s", (name, isMasked) => {
  expect(isSecretInAuditLog(name)).toBe(isMasked);
});
