import { useState } from "preact/hooks";
import { jsonOf, request } from "../api/call.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { navigate, pageUrl } from "../route/location.ts";

/** A payload in GitHub's format, with the members that the plugin reads. */
const eventOf = (repository: string, number: number) => ({
  action: "opened",
  issue: {
    number,
    title: "Test event from the Signalbox console",
    body: "Someone pressed “Send test event” in the console.",
    html_url: `https://github.com/${repository}/issues/${number}`,
    state: "open",
    labels: [],
    user: { login: "signalbox-console", id: 1, type: "User" },
    author_association: "OWNER",
    created_at: new Date().toISOString(),
    updated_at: new Date().toISOString(),
  },
  repository: { id: 1, name: repository.split("/")[1], full_name: repository, owner: { login: repository.split("/")[0] } },
  sender: { login: "signalbox-console", id: 1, type: "User" },
});

/** Sends an event to the webhook of alpha, as the tracker would. */
export function SendTestEvent() {
  const [issue, setIssue] = useState("octo/app#1");
  const send = async () => {
    const [, repository = "octo/app", number = "1"] = /^([^#\s]+\/[^#\s]+)#(\d+)$/.exec(issue.trim()) ?? [];
    const response = await request("POST", "webhook/alpha", eventOf(repository, Number(number)), undefined, {
      "x-github-event": "issues",
      "x-github-delivery": crypto.randomUUID(),
    });
    const { event_id } = (await jsonOf(response)) as { event_id: string };
    navigate(pageUrl(`delivery/${event_id}`));
  };
  return (
    <ActionButton
      label="Send test event"
      needs="write"
      run={send}
      confirm={
        <>
          <p>
            Sends “issue opened” to the GitHub (alpha) webhook. Its tasks run, and comment on this issue if it exists. If a
            webhook secret is set, the event is refused because only the tracker can sign it. Open an issue there instead.
          </p>
          <label>
            <span>Issue</span>
            <input value={issue} onInput={(event) => setIssue(event.currentTarget.value)} />
          </label>
        </>
      }
    />
  );
}
