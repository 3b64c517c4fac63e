import { PluginError, sanitizeText } from "@signalbox/sdk";
import type { z } from "zod";
import type { Repository } from "./address.ts";
import type { Client } from "./client.ts";
import { pageOf } from "./paging.ts";
import * as shapes from "./shapes.ts";

type Label = z.output<typeof shapes.label>;
type CreatedLabel = z.output<typeof shapes.createdLabel>;
interface Wanted {
  readonly name: string;
  readonly color: string;
  readonly description?: string | undefined;
}

/** Creates a label; returns the existing one if the name is taken. */
export async function createLabel(client: Client, repository: Repository, wanted: Wanted, signal: AbortSignal) {
  const name = sanitizeText(wanted.name);
  const description = wanted.description === undefined ? {} : { description: sanitizeText(wanted.description) };
  const parameters = { ...repository, name, color: wanted.color.replace("#", ""), ...description };
  let label: CreatedLabel;
  try {
    label = (await client.write("POST /repos/{owner}/{repo}/labels", parameters, shapes.createdLabel, signal)).data;
  } catch (error) {
    const existing =
      error instanceof PluginError && error.code === "invalid_input" && (await findLabel(client, repository, name, signal));
    if (!existing) throw error;
    label = existing;
  }
  const { name: given = name, color = parameters.color } = label;
  const url = label.url ?? client.addressOf("/repos/{owner}/{repo}/labels/{name}", { ...repository, name: given });
  return { name: given, color, description: label.description ?? null, url };
}

/** Label names are case-insensitive on the platform. */
async function findLabel(client: Client, repository: Repository, name: string, signal: AbortSignal): Promise<Label | undefined> {
  for (let page: number | null = 1; page !== null && page <= 100; ) {
    const route = "GET /repos/{owner}/{repo}/labels";
    const { data, link } = await client.read(route, { ...repository, per_page: 100, page }, shapes.labels, signal);
    const found = data.find((label) => label.name.toLowerCase() === name.toLowerCase());
    if (found) return found;
    page = pageOf(link, "next");
  }
  return undefined;
}
