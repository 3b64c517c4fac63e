import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** A clone in `folder`: the history in `history.git`, the working tree in `files`. */
export interface GitAccess {
  readonly url: string;
  readonly token: string;
  readonly folder: string;
}

const execute = promisify(execFile);

/**
 * Runs git. The history is outside of the working tree, and hooks are off: otherwise the coding agent could write a hook or a
 * setting that git then runs outside of the sandbox. The token is passed in the environment, so that no file or process list
 * contains it.
 */
async function git({ folder, token }: GitAccess, args: readonly string[]): Promise<string> {
  const header = `Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: "http.extraHeader",
    GIT_CONFIG_VALUE_0: header,
    GIT_CONFIG_KEY_1: "core.hooksPath",
    GIT_CONFIG_VALUE_1: "/dev/null",
  };
  const { stdout } = await execute("git", [...args], { env, cwd: folder, maxBuffer: 64 * 1024 * 1024, timeout: 300_000 });
  return stdout.trim();
}
const inTree = ({ folder }: GitAccess): string[] => [
  `--git-dir=${join(folder, "history.git")}`,
  `--work-tree=${join(folder, "files")}`,
];

/**
 * Clones the repository again, because an earlier attempt may have left an incomplete clone. Returns the name of the default
 * branch.
 */
export async function checkOut(access: GitAccess): Promise<string> {
  for (const name of ["history.git", "files"])
    if (existsSync(join(access.folder, name))) rmSync(join(access.folder, name), { recursive: true });
  await git(access, ["clone", "--quiet", "--depth=1", "--separate-git-dir=history.git", access.url, "files"]);
  rmSync(join(access.folder, "files/.git"));
  return git(access, [...inTree(access), "rev-parse", "--abbrev-ref", "HEAD"]);
}

export async function changedFiles(access: GitAccess): Promise<string[]> {
  const status = await git(access, [...inTree(access), "status", "--porcelain"]);
  return status === "" ? [] : status.split("\n");
}

/** Commits everything and pushes it to its own branch. Repeating it replaces the branch. */
export async function commitAndPush(access: GitAccess, { branch, message }: { branch: string; message: string }): Promise<void> {
  const author = ["-c", "user.name=Signalbox", "-c", "user.email=signalbox@localhost"];
  await git(access, [...inTree(access), "add", "--all", "."]);
  await git(access, [...inTree(access), ...author, "commit", "--quiet", `--message=${message}`]);
  await git(access, [...inTree(access), "push", "--quiet", "--force", "origin", `HEAD:refs/heads/${branch}`]);
}
