import { afterAll, beforeAll, expect, test } from "vitest";
import { type Built, buildPlugin } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { manifest, worker } from "../harness/worker-plugin.ts";

const limit = 120_000;

// A refusal names the expected and the actual value.
let service: Service;
let first: Built;
let second: Built;
beforeAll(async () => {
  [first, second] = await Promise.all([
    buildPlugin(worker("1.0.0"), { id: "worker", ...manifest }),
    buildPlugin(worker("1.1.0"), { id: "worker", version: "1.1.0", ...manifest }),
  ]);
  service = await startService();
}, limit);
afterAll(() => service?.close());

test("a bundle that is not the one in the manifest", async () => {
  const body = { ...first.body, bundle: second.body.bundle };
  const answer = await service.post<{ error: string }>("/api/plugins", body);
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatch(
    /MODIFIED: worker 1\.0\.0: the SHA-256 of the bundle must be [0-9a-f]{64}; it is [0-9a-f]{64}/,
  );
});
test("an unknown member of the manifest", async () => {
  const body = { ...first.body, manifest: { ...first.manifest, network: true } };
  const answer = await service.post<{ error: string }>("/api/plugins", body);
  expect(answer.status).toBe(400);
  expect(answer.body.error).toContain("network");
});
test("a contract of an unknown major", async () => {
  const body = { ...first.body, manifest: { ...first.manifest, contract: 7 } };
  const answer = await service.post<{ error: string }>("/api/plugins", body);
  expect(answer.body.error).toBe("UNKNOWN_CONTRACT: The contract of worker must be 1; it is 7.");
});
test(
  "a bundle with an unknown contract, whatever its manifest says",
  async () => {
    const source = worker("1.0.0", "^0.1.0", "later").replace("export default definePlugin", "const made = definePlugin");
    const later = await buildPlugin(
      `${source}\nconst stamp = Symbol.for("signalbox.plugin");\nexport default { ...made, [stamp]: { contract: 7, sdk: "7.0.0" } };`,
      { id: "later", ...manifest },
    );
    expect((await service.post("/api/plugins", later.body)).status).toBe(201);
    const answer = await service.post<{ error: string }>("/api/plugins/later/approve", {});
    expect(answer.status).toBe(409);
    expect(answer.body.error).toBe("UNKNOWN_CONTRACT: The contract of later must be 1; it is 7.");
    expect((await service.get<{ state: string }>("/api/plugins/later")).body.state).toBe("installed");
  },
  limit,
);
test("an sdk range that excludes this host", async () => {
  const body = { ...first.body, manifest: { ...first.manifest, id: "future", sdk: "^9.0.0" } };
  const answer = await service.post<{ error: string }>("/api/plugins", body);
  expect(answer.body.error).toMatch(/^SDK_RANGE: This host has sdk \d+\.\d+\.\d+; future 1\.0\.0 was written for \^9\.0\.0\.$/);
});
test(
  "a plugin for an older minor version is loaded",
  async () => {
    const older = await buildPlugin(worker("1.0.0", ">=0.0.1 <1", "older"), { id: "older", ...manifest, sdk: ">=0.0.1 <1" });
    expect((await service.post("/api/plugins", older.body)).status).toBe(201);
    expect((await service.post("/api/plugins/older/approve", {})).status).toBe(200);
    expect((await service.del("/api/plugins/older")).status).toBe(204);
  },
  limit,
);
