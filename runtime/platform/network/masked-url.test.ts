import { expect, test } from "vitest";
import { addressFor, maskedUrl } from "./masked-url.ts";

test.each([
  ["https://mcp.example.com/mcp", "https://mcp.example.com/mcp"],
  ["https://mcp.example.com:8443/a/b/?page=2&key=abc", "https://mcp.example.com:8443/a/b/?page=********&key=********"],
  ["https://hooks.example.com/services/T0000/0123456789abcdef", "https://hooks.example.com/services/T0000/********"],
  ["https://a.example/x?0123456789abcdef", "https://a.example/x?********"],
  ["https://user:p%40ss@a.example/", "https://********@a.example/"],
  ["https://a.example/#0123456789abcdef", "https://a.example/"],
  ["https://a.example/%30123456789abcdef%2f/b", "https://a.example/********/b"],
  ["not a URL", "********"],
])("%s is shown as %s", (url, shown) => {
  expect(maskedUrl(url)).toBe(shown);
  expect(addressFor({ scopes: ["read"] }, url)).toBe(shown);
  expect(addressFor({ scopes: ["read", "write"] }, url)).toBe(url);
});
