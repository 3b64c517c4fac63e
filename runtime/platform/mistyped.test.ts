import { expect, test } from "vitest";
import { mistypedIn } from "./mistyped.ts";

const known = ["PORT", "HOST", "LOG_LEVEL", "ALPHA_TOKEN", "ALPHA_WEBHOOK_SECRET", "LLM_BASE_URL", "DATABASE_URL", "API_KEYS"];

test.each([
  ["ALPHA_WEBHOOKSECRET", "ALPHA_WEBHOOK_SECRET"],
  ["ALPHA_TOKN", "ALPHA_TOKEN"],
  ["ALPHA_SOMETHING_ELSE", null],
  ["LLM_BASEURL", "LLM_BASE_URL"],
  ["DATABSE_URL", "DATABASE_URL"],
  ["API_KEY", "API_KEYS"],
])("%s is unknown, and %s is suggested", (name, suggestion) => {
  expect(mistypedIn([name], known)).toEqual([{ name, suggestion }]);
});

test("our variables, and those of others, are not reported", () => {
  const others = [
    "HOME",
    "PATH",
    "HOSTNAME",
    "LANG",
    "LOGNAME",
    "SHELL",
    "npm_config_port",
    "OTEL_TRACES_SAMPLER",
    "NODE_OPTIONS",
    "TERM",
  ];
  expect(mistypedIn([...known, ...others, "PLUGIN_ACME__TOKEN"], known)).toEqual([]);
});
