/** The attacks by name. Each receives the paths and addresses that the test created. */
export const attacks: Readonly<Record<string, unknown>>;
