/**
 * The program of a thread or a process, next to the module that starts it: TypeScript in a checkout, JavaScript in the package.
 * `importer`: the `import.meta.url` of that module.
 */
export const siblingFile = (importer: string, name: string): URL =>
  new URL(`./${name}${importer.endsWith(".ts") ? ".ts" : ".js"}`, importer);
