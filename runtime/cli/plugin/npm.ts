import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PackageError } from "./package-error.ts";

/** Runs npm, so that its registries, credentials, proxies and certificates apply. Throws a `PackageError` about `what`. */
export async function npm(args: readonly string[], what: string, cwd?: string): Promise<string> {
  const options = { maxBuffer: 1 << 24, timeout: 120_000, ...(cwd !== undefined && { cwd }) };
  const ran = await promisify(execFile)("npm", ["--loglevel=error", ...args], options).catch((error) => {
    throw new PackageError("REGISTRY", `${what}: ${reasonOf(error)}`, error);
  });
  return ran.stdout;
}

function reasonOf(error: { code?: unknown; stderr?: string; message: string }): string {
  if (error.code === "ENOENT") return "npm, which fetches packages, is not installed. Name a tarball or a folder instead.";
  // npm's own text says 404 four times.
  if (/\bE404\b/.test(error.stderr ?? "")) return "the registry has no such package or version, or you may not read it (404).";
  const lines = (error.stderr || error.message)
    .split("\n")
    .filter((line) => line.trim() !== "" && !/complete log|warn/i.test(line));
  return lines.slice(0, 4).join(" ").replaceAll("npm error ", "");
}
