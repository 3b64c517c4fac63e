// Checks that the committed generated files match the operations, and that they do not break clients of the published ones.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// The linter must not send or request anything.
Object.assign(process.env, { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" });
const generated = ["schema/gen", "schema/field-numbers.json"];
run("node", ["runtime/generate/main.ts", "--afresh"]);
if (!run("git", ["diff", "--exit-code", "--stat", "--", ...generated], false))
  fail("Generated files differ from the committed ones: run `npm run generate` and commit the result.");
const unknown = output("git", ["ls-files", "--others", "--exclude-standard", "--", ...generated]);
if (unknown !== "") fail(`Generated files are not committed:\n${unknown}`);

run("node", [".ci/lock.mjs", "--check"]);
run("buf", ["lint", "schema/gen"]);
run("redocly", ["lint", "--config", ".ci/redocly.yaml", "schema/gen/openapi.json"]);
againstPublished();

/** Compares with the newest release, or before the first one, with the last commit, so that uncommitted edits are checked. */
function againstPublished() {
  const base = output("git", ["describe", "--tags", "--abbrev=0", "--match", "v*"]) || "HEAD";
  const folder = mkdtempSync(join(tmpdir(), "signalbox-published-"));
  try {
    const archive = spawnSync("git", ["archive", base, "schema/gen"], { maxBuffer: 1 << 28 });
    if (archive.status !== 0) return console.log(`buf breaking: skipped, ${base} has no schema/gen`);
    spawnSync("tar", ["-x", "-C", folder], { input: archive.stdout });
    const published = join(folder, "schema/gen");
    if (!existsSync(join(published, "api.proto"))) return console.log(`buf breaking: skipped, ${base} has no api.proto`);
    run("buf", ["breaking", "schema/gen", "--against", published]);
    console.log(`buf: lint, and nothing broken since ${base}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(command, args, must = true) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0 && must) fail(`${command} ${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
  return status === 0;
}

function output(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  return status === 0 ? stdout.trim() : "";
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
