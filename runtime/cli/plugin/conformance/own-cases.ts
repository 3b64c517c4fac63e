import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Conformance, TestCase } from "@signalbox/sdk/testing";
import { openSandbox } from "../../../plugins/sandbox/open.ts";
import type { PluginBuild } from "../build.ts";
import type { RunState } from "./plugin-under-test.ts";

/** Cases for every bundle, independent of its kinds. */
export function bundleCases({ manifest, bundle }: PluginBuild, config: Record<string, unknown>): TestCase[] {
  const start = () => openSandbox({ bundle, name: manifest.id, memoryMb: manifest.limits.memory_mb, config });
  return [
    {
      name: "bundle: its declaration in the sandbox matches the manifest",
      run: async () => {
        const sandbox = await start();
        await sandbox.close();
        const { plugin, contributes } = sandbox.declaration;
        assert.deepEqual([plugin.id, plugin.version, plugin.sdk], [manifest.id, manifest.version, manifest.sdk]);
        assert.ok(
          isDeepStrictEqual(JSON.parse(JSON.stringify(contributes)), JSON.parse(JSON.stringify(manifest.contributes))),
          "setup must contribute the same at every start; its result must not depend on time, chance or settings",
        );
      },
    },
    {
      name: "bundle: exits when asked to",
      run: async () => {
        let reason = "";
        // A busy machine may hold up one of three.
        for (let tries = 0; tries < 3 && !/exited with code 0/.test(reason); tries++) {
          const sandbox = await start();
          await sandbox.close(2_000);
          reason = (await sandbox.whenExited).reason;
        }
        assert.match(reason, /exited with code 0/, `dispose must stop all timers and loops; ${reason}`);
      },
    },
  ];
}

/** Runs last, because it checks what all previous cases did. */
export function shutdownCases(
  { manifest }: PluginBuild,
  conformance: Conformance,
  state: RunState,
  unansweredRequests: ReadonlySet<string>,
): TestCase[] {
  return [
    {
      name: "http: every request has a recording",
      run: async () =>
        assert.deepEqual([...unansweredRequests], [], "run `signalbox plugin test --record` once, or write them into test/http/"),
    },
    {
      name: "secrets: the plugin's output contains none",
      run: async () => {
        const all = state.stderrLines.join("\n");
        for (const [name, value] of Object.entries(conformance.secrets ?? {}))
          assert.ok(value === "" || !all.includes(value), `the secret ${name} is in the plugin's console output`);
        for (const name of Object.keys(manifest.secrets))
          assert.ok(
            conformance.secrets?.[name] !== undefined,
            `conformance.secrets must have a value for the manifest's secret "${name}" ("" for one that is not set)`,
          );
      },
    },
  ];
}

/** Permissions that no case used. This is not an error, but operators will ask why they are needed. */
export const unusedPermissions = ({ manifest }: PluginBuild, state: RunState): string[] =>
  manifest.permissions.http.flatMap(({ host, methods }) =>
    methods.filter((method) => !state.usedHosts.has(`${method} ${host}`)).map((method) => `${method} https://${host}`),
  );

/**
 * Features that the platform does not have, according to the fixtures of its source. They are listed, because they are not
 * tested.
 */
export const untestedSources = ({ sources = {} }: Conformance): string[] =>
  Object.entries(sources).flatMap(([name, { signature, delivery_header, golden }]) => [
    ...(signature === null
      ? [
          `sources.${name}: signature is null, so anyone who knows the URL can send webhooks. Does the platform sign them or send a token?`,
        ]
      : []),
    ...(delivery_header === null && golden.every(({ expect }) => (expect.delivery_id ?? null) === null)
      ? [
          `sources.${name}: delivery_id is null in every webhook, so a repeated delivery runs twice unless change_key identifies it`,
        ]
      : golden
          .filter(({ expect }) => expect.delivery_id === null)
          .map(
            (one) =>
              `sources.${name}: delivery_id of the webhook ${JSON.stringify(one.name)} is null, so a redelivery runs twice`,
          )),
  ]);
