import { readSource, type Source } from "./source.ts";
import { files, isGenerated, textOf } from "./tree.ts";

/** Parsed when this file is imported, which takes seconds. */
export const sources: readonly Source[] = files
  .filter((path) => /\.tsx?$/.test(path) && !isGenerated(path))
  .map((path) => readSource(path, textOf(path)));
