import { expect, test, vi } from "vitest";

test("an answer that is cut off reports the service, but not if the page that asked was left", async () => {
  vi.stubGlobal("document", { querySelector: () => null });
  vi.stubGlobal("window", { location: new URL("http://localhost/console/") });
  vi.stubGlobal("addEventListener", () => {});
  const { jsonOf } = await import("./call.ts");
  const { isConnected } = await import("./live.ts");
  const failing = (error: Error) => new Response(new ReadableStream({ start: (part) => part.error(error) }));
  const left = new AbortController();
  left.abort();
  await expect(jsonOf(failing(left.signal.reason))).rejects.toBe(left.signal.reason);
  expect(isConnected.value).toBe(true);
  await expect(jsonOf(failing(new TypeError("network error")))).rejects.toThrow("The service is not responding");
  expect(isConnected.value).toBe(false);
  vi.unstubAllGlobals();
});
