// Builds the container image of the version in package.json, with a list of its parts (SBOM) and a statement about its build
// (provenance), pushes it and signs its digest. IMAGE names it without a tag. With --dry-run nothing is pushed or signed.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";

const isDry = process.argv.includes("--dry-run");
const { version, description, license, repository } = JSON.parse(readFileSync("package.json", "utf8"));
const image = process.env.IMAGE || "ghcr.io/signalbox/signalbox";
const described = {
  title: "Signalbox",
  description,
  version,
  licenses: license,
  source: repository.url.replace(/^git\+|\.git$/g, ""),
  revision: run("git", ["rev-parse", "HEAD"], "pipe").trim(),
};
const metadata = "dist/image.json";
mkdirSync("dist", { recursive: true });
const build = [
  "buildx",
  "build",
  "--platform",
  "linux/amd64,linux/arm64",
  "--sbom=true",
  "--provenance=mode=max",
  ...Object.entries(described).flatMap(([name, value]) => ["--label", `org.opencontainers.image.${name}=${value}`]),
  "--tag",
  `${image}:${version}`,
  ...(version.includes("-") ? [] : ["--tag", `${image}:latest`]),
  "--metadata-file",
  metadata,
  "--push",
  ".",
];
if (isDry) {
  console.log(`would run: docker ${build.join(" ")}\nwould run: cosign sign --yes ${image}@DIGEST`);
  if (spawnSync("docker", ["buildx", "version"]).status === 0) run("docker", ["build", "--tag", `signalbox:${version}`, "."]);
  else console.log("docker is not installed here, so the image was not built");
} else {
  run("docker", build);
  const { "containerimage.digest": digest } = JSON.parse(readFileSync(metadata, "utf8"));
  // Signs without a key: the signature proves the identity of the workflow.
  run("cosign", ["sign", "--yes", `${image}@${digest}`]);
  console.log(`${image}:${version} is ${digest}`);
}

function run(command, args, stdout = "inherit") {
  const ended = spawnSync(command, args, { stdio: ["ignore", stdout, "inherit"], encoding: "utf8" });
  if (ended.status === 0) return ended.stdout ?? "";
  console.error(`${command} ${args.join(" ")} failed${ended.error ? `: ${ended.error.message}` : ""}`);
  return process.exit(1);
}
