import { PluginError } from "@signalbox/sdk";

/** An issue or pull request, as parts of a path. They share their numbers. */
export interface Place {
  readonly owner: string;
  readonly repo: string;
  readonly issue: string;
}

/** Checks `owner/repo` and makes it parts of a path. Throws `invalid_input`. */
export function repositoryOf(project: string): { owner: string; repo: string } {
  const [owner, repo, more] = project.split("/");
  // The names that Gitea allows: neither of them can lead elsewhere in a path.
  const fits = (name: string | undefined) => name !== undefined && /^[\w.-]{1,100}$/.test(name) && !/^\.+$/.test(name);
  if (fits(owner) && fits(repo) && more === undefined) return { owner: owner as string, repo: repo as string };
  throw new PluginError("invalid_input", `project: must be owner/repo; it is ${JSON.stringify(project.slice(0, 200))}`);
}

/** The place of an issue: its number with a project, or `owner/repo#12`. Throws `invalid_input`. */
export function placeOf(issue: string | number, project?: string): Place {
  const [, named, number] = /^(?:([^#]+)#|#)?([1-9]\d{0,9})$/.exec(String(issue).trim()) ?? [];
  const repository = named ?? project;
  if (number !== undefined && repository) return { ...repositoryOf(repository), issue: number };
  throw new PluginError(
    "invalid_input",
    `issue: must be a number with a project, or owner/repo#12; it is ${JSON.stringify(String(issue).slice(0, 200))}`,
  );
}
