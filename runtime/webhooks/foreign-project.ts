import type { SourceEvent } from "@signalbox/sdk";
import { spellProject } from "../platform/project-spelling.ts";
import type { Connection, Connections } from "../plugins/connections.ts";

/**
 * Why an integration may not report an event: it belongs to another project. Otherwise, whoever knows its secret could have agents
 * work with the memories of any project, and answer with the account of the integration.
 */
export async function foreignProject(
  connections: Pick<Connections, "projectOf">,
  connection: Connection | null,
  { subject }: SourceEvent,
): Promise<string | null> {
  const project = subject && connection && (await connections.projectOf(connection));
  if (!subject || !project || spellProject(project) === spellProject(subject.project)) return null;
  return `it is about ${subject.project}, and the integration whose webhook reported it belongs to ${project}`;
}
