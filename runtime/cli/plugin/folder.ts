import { resolve } from "node:path";
import { UsageError } from "../arguments.ts";
import type { Given } from "../command.ts";

/** The folder that a command for authors is given. */
export function folderOf({ positionals: [folder = ".", ...more] }: Given): string {
  if (more.length > 0)
    throw new UsageError(
      `unexpected argument ${JSON.stringify(more[0])}: the command takes one folder, by default the working folder`,
    );
  return resolve(folder);
}
