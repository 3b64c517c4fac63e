/** The attacks by name. Each receives the paths and addresses that the test created. */
export const noise: Readonly<Record<string, unknown>>;
export const deadly: Readonly<Record<string, unknown>>;
