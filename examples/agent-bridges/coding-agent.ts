import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { changedFiles, checkOut, commitAndPush, type GitAccess } from "./checkout.ts";
import { serveTasks, type Task } from "./gateway.ts";
import { findPullRequest, openPullRequest } from "./pull-requests.ts";
import { runSandboxed } from "./sandbox.ts";

/** Passes the tasks of a Signalbox agent to the command line of a coding agent, and opens a pull request with its changes. */
const env = (name: string, fallback?: string): string => {
  const value = process.env[name] || fallback;
  if (value === undefined) {
    console.error(`missing ${name}; see README.md`);
    process.exit(1);
  }
  return value;
};
const list = (text: string): string[] => text.split(",").flatMap((one) => one.trim() || []);

const settings = {
  url: env("SIGNALBOX_URL", "http://localhost:8000"),
  agentId: env("AGENT_ID", "coding_agent"),
  secret: env("AGENT_SECRET", ""),
  heartbeatSeconds: Number(env("HEARTBEAT_SECONDS", "10")),
  command: env("CODING_COMMAND"),
  timeoutMs: Number(env("CODING_TIMEOUT_SECONDS", "1200")) * 1000,
  /** Names of variables that the command gets. */
  passed: list(env("CODING_ENV", "")),
  /** The bridge works only in these repositories, so an issue cannot direct it to others. */
  repositories: list(env("REPOSITORIES")),
  gitUrl: env("GIT_URL", "https://github.com/{repository}.git"),
  folder: resolve(env("WORK_FOLDER", "coding-agent")),
};
const github = { apiUrl: env("GITHUB_API_URL", "https://api.github.com"), token: env("GITHUB_TOKEN") };

/** The issue of a task. The service writes this line before the text of the event, so the first such line is the service's. */
function subjectOf({ content }: Task): { repository: string; issue: string } {
  const [, repository = "", issue = ""] = /^This event is about \w+:([\w.-]+\/[\w.-]+)#(\d+)\.$/m.exec(content) ?? [];
  if (!settings.repositories.includes(repository))
    throw new Error(
      `the task is about ${repository || "no repository"}; REPOSITORIES allows only ${settings.repositories.join(", ")}`,
    );
  return { repository, issue };
}

const instructions =
  "Change the files in the working folder as the task asks. Do not commit: your changes become a pull request. " +
  "End with a short summary of what you changed and why, in Markdown.";

async function work(task: Task): Promise<string> {
  const { repository, issue } = subjectOf(task);
  // Both names are derived from the execution, so a repeated task finds the results of an earlier attempt.
  const branch = `signalbox/${task.executionId}`;
  const known = await findPullRequest(github, repository, branch);
  if (known) return `I opened ${known} for this.`;
  const folder = join(settings.folder, task.executionId);
  mkdirSync(folder, { recursive: true });
  try {
    const git: GitAccess = { url: settings.gitUrl.replace("{repository}", repository), token: github.token, folder };
    const base = await checkOut(git);
    const prompt = [task.systemPrompt, task.content, instructions].filter(Boolean).join("\n\n");
    const { summary } = await runSandboxed({ ...settings, files: join(folder, "files"), prompt });
    if ((await changedFiles(git)).length === 0) return summary || "The coding agent changed no files and printed no answer.";
    const title = `${task.taskName} (#${issue})`;
    await commitAndPush(git, { branch, message: title });
    const url = await openPullRequest(github, repository, { branch, base, title, body: `${summary}\n\nFor #${issue}.` });
    return `I opened ${url}.\n\n${summary}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await serveTasks(settings, work);
