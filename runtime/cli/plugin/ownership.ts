import { createInterface } from "node:readline/promises";
import { UsageError } from "../arguments.ts";

/** The license of a new plugin, and the address of its source. Operators see both before they install it. */
export interface Ownership {
  /** SPDX identifier. */
  readonly license: string;
  readonly repository: string | null;
}

/** Flags of `plugin new` and of `npm create signalbox-plugin`. */
export const ownershipFlags = { license: { type: "string" }, repository: { type: "string" } } as const;
const defaultLicense = "MIT";

/** The values of the flags. On a terminal, the user is asked for the missing ones; otherwise they have their defaults. */
export async function ownershipOf(flags: { license?: string; repository?: string }): Promise<Ownership> {
  const { license, repository } = { ...(await askOwnership(flags)), ...flags };
  if (license && !/^[A-Za-z0-9.+() -]+$/.test(license))
    throw new UsageError(
      `--license: must be an SPDX identifier such as MIT or Apache-2.0, or UNLICENSED; it is ${JSON.stringify(license)}`,
    );
  if (repository && !URL.canParse(repository))
    throw new UsageError(
      `--repository: must be a URL such as https://github.com/me/my-plugin; it is ${JSON.stringify(repository)}`,
    );
  return { license: license || defaultLicense, repository: repository || null };
}

async function askOwnership(flags: {
  license?: string;
  repository?: string;
}): Promise<{ license?: string; repository?: string }> {
  const { stdin: input, stdout: output } = process;
  if (!input.isTTY || !output.isTTY) return {};
  const questions = createInterface({ input, output });
  try {
    const license = flags.license ?? (await questions.question(`License (${defaultLicense}): `)).trim();
    const repository = flags.repository ?? (await questions.question("Repository URL (none yet): ")).trim();
    return { license, repository };
  } finally {
    questions.close();
  }
}

/** The text of a short license; authors add the text of the longer ones themselves. */
export function licenseText({ license }: Ownership, id: string): string | null {
  if (license !== "MIT") return null;
  return `MIT License

Copyright (c) ${new Date().getUTCFullYear()} the authors of ${id}

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`;
}

/** The steps that remain for the author before the plugin can be published. */
export function remainingSteps({ license, repository }: Ownership): string {
  return [
    license === "MIT" || license === "UNLICENSED" ? "" : `Add a file LICENSE with the text of ${license}.\n`,
    repository ? "" : "Before you publish it, set `repository` in package.json: operators see where a plugin comes from.\n",
  ].join("");
}
