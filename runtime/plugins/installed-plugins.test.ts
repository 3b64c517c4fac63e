import type { BuiltManifest } from "@signalbox/sdk/manifest";
import { expect, test } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { createVault } from "../platform/vault.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { InstalledPlugins } from "./installed-plugins.ts";
import type { LoadedThirdParty } from "./load-third-party.ts";
import { ProcessStates } from "./process-states.ts";
import { insertVersion, setEnabled, setQuarantine, useVersion } from "./queries.ts";

const database = useTestDatabase();
const digest = "ab".repeat(32);

/** A process that starts once it may. */
function makeProcess(mayStart: Promise<void>) {
  const process = {
    state: "stopped",
    starts: 0,
    status: () => ({ state: process.state, code: null, reason: null }),
    start: async () => {
      process.starts++;
      await mayStart;
      process.state = "ready";
    },
    quarantine: () => {
      process.state = "quarantined";
    },
    stop: async () => {},
  };
  return process;
}

/** Two installed plugins that run. `upgrade` follows a new version of the first one, which starts once `finish` is called. */
async function open(sql: Sql) {
  let mayStart = Promise.resolve();
  const processes = new Map<string, ReturnType<typeof makeProcess>>();
  const install = async (id: string, version: string) => {
    const manifest = { id, version, bundle: { sha256: digest } } as unknown as BuiltManifest;
    const row = { sha256: digest, bundle: new Uint8Array(1), origin: null, integrity: null, publisher: null };
    await insertVersion(sql, manifest, { ...row, manifest: JSON.stringify(manifest) });
    await useVersion(sql, id, version);
  };
  const load = async ({ manifest }: { manifest: BuiltManifest | null }) => {
    const process = makeProcess(mayStart);
    processes.set(`${manifest?.id} ${manifest?.version}`, process);
    return { manifest, process, sha256: digest } as unknown as LoadedThirdParty;
  };
  const states = new ProcessStates({ sql, bus: { publish: async () => {} } as never, log: noLog, alarm: () => {} });
  const installed = new InstalledPlugins({
    sql,
    log: noLog,
    vault: createVault([]),
    alarm: () => {},
    settings: new Map(),
    contributions: { serve: async () => {}, remove: async () => {} } as never,
    states,
    load: load as never,
  });
  await sql`delete from plugins`;
  for (const id of ["first", "second"]) {
    await install(id, "1.0.0");
    await setEnabled(sql, id, true);
  }
  await installed.follow();
  const upgrade = async () => {
    await install("first", "2.0.0");
    const { promise, resolve: finish } = Promise.withResolvers<void>();
    mayStart = promise;
    const following = installed.follow();
    await expect.poll(() => processes.get("first 2.0.0")?.starts).toBe(1);
    return () => {
      finish();
      return following;
    };
  };
  /** Quarantines the process of the second plugin, and waits until this is stored or cannot be. */
  const quarantineSecond = async () => {
    const loaded = installed.find("second") as LoadedThirdParty;
    const process = loaded.process as NonNullable<LoadedThirdParty["process"]>;
    process.quarantine("PLUGIN_CRASHED", "");
    states.recordStatus(loaded, process, process.status(), true);
    expect(states.isStoring(process)).toBe(true);
    await expect.poll(() => states.isStoring(process)).toBe(false);
  };
  const second = () => processes.get("second 1.0.0") as ReturnType<typeof makeProcess>;
  return { installed, upgrade, second, quarantineSecond };
}

test("a plugin that is enabled while another one starts is not quarantined again", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  const { installed, upgrade, second } = await open(sql);
  await setQuarantine(sql, "second", "1.0.0", "PLUGIN_CRASHED", "");
  await installed.follow();
  expect(second().state).toBe("quarantined");
  const finish = await upgrade();
  await setEnabled(sql, "second", true);
  second().state = "ready";
  await finish();
  expect(second().state).toBe("ready");
});

test("a plugin that is quarantined while another one starts is not started again", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  const { upgrade, second } = await open(sql);
  const finish = await upgrade();
  second().state = "quarantined";
  await setQuarantine(sql, "second", "1.0.0", "PLUGIN_CRASHED", "");
  await finish();
  expect([second().state, second().starts]).toEqual(["quarantined", 1]);
});

test("a plugin whose quarantine could not be stored is started again", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  const { installed, second, quarantineSecond } = await open(sql);
  await sql`alter table plugins add constraint no_quarantine check (quarantine_code is null)`;
  await quarantineSecond();
  await sql`alter table plugins drop constraint no_quarantine`;
  await installed.follow();
  expect([second().state, second().starts]).toEqual(["ready", 2]);
});
