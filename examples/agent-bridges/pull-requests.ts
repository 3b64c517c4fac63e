/** The part of GitHub's REST API that pull requests need. */
export interface GitHub {
  readonly apiUrl: string;
  readonly token: string;
}
interface PullRequest {
  readonly html_url: string;
}

async function call<T>({ apiUrl, token }: GitHub, route: string, body?: object): Promise<T> {
  const response = await fetch(`${apiUrl}${route}`, {
    method: body ? "POST" : "GET",
    headers: { accept: "application/vnd.github+json", authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  if (!response.ok) throw new Error(`GitHub answered ${response.status} to ${route}: ${(await response.text()).slice(0, 300)}`);
  return (await response.json()) as T;
}

/** URL of the pull request of a branch, open or not; `null` if there is none. */
export async function findPullRequest(github: GitHub, repository: string, branch: string): Promise<string | null> {
  const head = encodeURIComponent(`${repository.split("/")[0]}:${branch}`);
  const [found] = await call<PullRequest[]>(github, `/repos/${repository}/pulls?state=all&head=${head}`);
  return found?.html_url ?? null;
}

/** Opens a pull request, unless an earlier attempt has opened it. Returns its URL. */
export async function openPullRequest(
  github: GitHub,
  repository: string,
  { branch, base, title, body }: { branch: string; base: string; title: string; body: string },
): Promise<string> {
  const known = await findPullRequest(github, repository, branch);
  if (known) return known;
  const opened = await call<PullRequest>(github, `/repos/${repository}/pulls`, { head: branch, base, title, body });
  return opened.html_url;
}
