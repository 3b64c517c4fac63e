import { useState } from "preact/hooks";
import type { WebhookReport } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { session } from "../api/session.ts";
import { webhookUrl } from "../parts/account-health.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { Text } from "../parts/text.tsx";

interface WebhookSetupProps {
  readonly source: string;
  /** Name of the platform: `GitHub`. */
  readonly platform: string;
}

/** Compares the webhook at the platform with the mappings; on request creates it there, or adds the missing events. */
export function WebhookSetup({ source, platform }: WebhookSetupProps) {
  const [project, setProject] = useState("");
  const [report, setReport] = useState<WebhookReport | null>(null);
  const check = async (apply: boolean) =>
    setReport(
      await call("sources.check", {
        source,
        apply,
        // The service knows its own address only from PUBLIC_URL.
        ...(!session.value?.public_url && { url: webhookUrl(source) }),
        ...(project.trim() && { project: project.trim() }),
      }),
    );
  return (
    <>
      <ActionButton
        label="Set up webhook"
        of={platform}
        needs="admin"
        confirm={
          <>
            <p>
              Creates the webhook on {platform}, or adds the events that it does not send yet. The token needs permission to
              manage webhooks. To undo this, remove the webhook on {platform}.
            </p>
            <label>
              <span>Project on {platform}</span>
              <input
                value={project}
                placeholder="acme/webshop (empty for the whole account)"
                onInput={(event) => setProject(event.currentTarget.value)}
              />
            </label>
          </>
        }
        run={() => check(true)}
      />
      {report && (
        <span class="why wide" role="status">
          <Text max={600}>{sentenceOf(report, platform)}</Text>
        </span>
      )}
    </>
  );
}

function sentenceOf({ ok, changed, configured, missing, unknown, notes, active }: WebhookReport, platform: string): string {
  const changeText =
    changed === "created"
      ? `The webhook was created on ${platform}.`
      : changed === "updated"
        ? `The missing events were added on ${platform}.`
        : ok
          ? `The webhook on ${platform} was already complete.`
          : configured.length > 0
            ? `The webhook on ${platform} was not changed.`
            : `Nothing changed on ${platform}.`;
  const rest = [
    configured.length > 0 && `It sends ${configured.join(", ")}.`,
    missing.length > 0 && `It does not send ${missing.join(", ")}.`,
    unknown.length > 0 && `Mappings name events that ${platform} does not have: ${unknown.join(", ")}.`,
    !active && configured.length > 0 && "It is disabled.",
    ...notes,
  ];
  return [changeText, ...rest].filter(Boolean).join(" ");
}
