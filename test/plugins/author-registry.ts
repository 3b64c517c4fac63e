import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { authorCommands } from "../harness/author-commands.ts";
import { buildStatement, type PackageRegistry, startRegistry } from "../harness/package-registry.ts";

const limit = 240_000;

interface Author {
  readonly folder: string;
  readonly manifest: string;
  /** Version 0.2.0, packed. */
  readonly tarball: string;
  readonly commands: ReturnType<typeof authorCommands>;
}

/** The author's plugin, published to a registry and installed from there. */
export function fromRegistry(opened: () => Author): void {
  const name = "signalbox-plugin-word-count";
  let registry: PackageRegistry;
  /** The digest in the attestation of the build; `null`: that of the tarball. */
  let claimed: string | null = null;
  const attestations = () => [
    buildStatement(claimed ?? createHash("sha512").update(readFileSync(opened().tarball)).digest("hex")),
  ];
  beforeAll(async () => {
    const manifest = JSON.parse(readFileSync(opened().manifest, "utf8"));
    const read = () => readFileSync(opened().tarball);
    const published = { version: "0.2.0", manifest, read };
    registry = await startRegistry([
      { ...published, name, attestations },
      { ...published, name: `${name}-unproven` },
    ]);
    writeFileSync(
      join(opened().folder, ".npmrc"),
      `registry=${registry.url}/\ncache=${join(opened().folder, "cache")}\nfetch-retries=0\n`,
    );
    writeFileSync(join(opened().folder, "package.json"), "{}");
  });
  afterAll(() => registry?.close());

  test(
    "the package is fetched, compared with its integrity, approved in one go",
    async () => {
      const text = await opened().commands.good(["plugin", "install", name, "--approve"]);
      expect(text).toContain(`word-count 0.2.0 from ${name}@0.2.0`);
      expect(text).toContain("is approved");
      // This registry has no keys, so its statements cannot be verified.
      expect(text).toContain("\n  signature: not verified (the registry publishes no keys)\n");
      expect(text).toMatch(
        /provenance: not verified \(the registry publishes no keys\); the attestation says: built from https:\/\/git\.example\/acme\/count \(refs\/tags\/v0\.2\.0, commit c0ffee\) by workflow \.github\/workflows\/publish\.yml\n/,
      );
      expect(readdirSync(opened().folder, { recursive: true }).filter((file) => basename(String(file)) === "ran")).toEqual([]);
      const lock = JSON.parse(readFileSync(join(opened().folder, "signalbox-plugins.lock.json"), "utf8"));
      expect(lock.plugins["word-count"]).toMatchObject({ version: "0.2.0", source: `${name}@0.2.0` });
      expect(await opened().commands.good(["plugin", "upgrade", "word-count"])).toContain("requests no new permissions");
      // Another service gets the contents of the lock.
      await opened().commands.good(["plugin", "install"]);
    },
    limit,
  );

  test(
    "a search shows a plugin's permissions before it is installed",
    async () => {
      const text = await opened().commands.good(["plugin", "search", "word"]);
      expect(text).toContain(
        `${name} 0.2.0  Tools for Signalbox.\n  tools; sdk ^0.1.0\n  http: GET, POST https://status.example.com`,
      );
      expect(text).toContain("  capability: fetch\n  provenance: attested; install verifies it\n");
      const unproven = text.slice(text.indexOf(`${name}-unproven`));
      expect(unproven).toContain("\n  tools; sdk ^0.1.0\n");
      expect(unproven).toContain("  capability: fetch\n  provenance: none\n");
      // Version 0.2.0 was packed without a test of this bundle.
      expect(await opened().commands.good(["plugin", "search", "word", "--reports"])).toContain(
        "\n  conformance: no report for this bundle\n",
      );
      expect(await opened().commands.signalbox(["plugin", "search", "nothing-of-the-kind"])).toEqual({
        code: 1,
        text: "No plugins found.\n",
      });
    },
    limit,
  );

  test(
    "provenance of another tarball is refused",
    async () => {
      claimed = "0".repeat(128);
      await opened().commands.bad(
        ["plugin", "install", name],
        /^INTEGRITY: .*provenance in the registry belongs to another tarball/,
      );
      claimed = null;
    },
    limit,
  );

  test(
    "bytes that do not match the registry or the lock file are refused",
    async () => {
      registry.lie();
      rmSync(join(opened().folder, "cache"), { recursive: true, force: true });
      await opened().commands.bad(["plugin", "install", name], /^(REGISTRY|INTEGRITY): .*sha512|EINTEGRITY/s);
      const lock = join(opened().folder, "signalbox-plugins.lock.json");
      writeFileSync(lock, readFileSync(lock, "utf8").replace(/"sha256": "[0-9a-f]{4}/, '"sha256": "0000'));
      await opened().commands.bad(
        ["plugin", "install", opened().tarball],
        /^INTEGRITY: The SHA-256 of word-count 0\.2\.0 must be 0000[0-9a-f]{60}, as signalbox-plugins\.lock\.json says/,
      );
      await opened().commands.bad(
        ["plugin", "install", "signalbox-plugin-not-there"],
        /^REGISTRY: signalbox-plugin-not-there: .*404/s,
      );
    },
    limit,
  );
}
