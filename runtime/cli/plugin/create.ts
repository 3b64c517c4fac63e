#!/usr/bin/env node
// The program of create-signalbox-plugin: `npm create signalbox-plugin <folder>` is `signalbox plugin new <folder>`.
import { parseArgs } from "node:util";
import { messageOf } from "../../platform/error-text.ts";
import { listOfKinds } from "./kinds.ts";
import { ownershipFlags, ownershipOf, remainingSteps } from "./ownership.ts";
import { scaffold } from "./scaffold.ts";

try {
  const options = {
    kind: { type: "string", default: "tools" },
    ...ownershipFlags,
    help: { type: "boolean", short: "h" },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [folder, ...more] = positionals;
  if (values.help || folder === undefined || more.length > 0) {
    process.stdout.write(
      `Usage: npm create signalbox-plugin <folder> -- [--kind <kind>] [--license <id>] [--repository <url>]\n\nKinds:\n${listOfKinds()}`,
    );
    process.exitCode = values.help ? 0 : 2;
  } else {
    const ownership = await ownershipOf(values);
    const result = scaffold({ folder, kind: values.kind, ...ownership });
    const next = `  cd ${folder}\n  npm install\n  npm test\n`;
    process.stdout.write(`${result.folder}: ${result.files.length} files. Next:\n\n${next}\n${remainingSteps(ownership)}`);
  }
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
