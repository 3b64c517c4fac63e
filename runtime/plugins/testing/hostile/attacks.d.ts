/** By name: what is tried. It takes the places that the test made. */
export const attacks: Readonly<Record<string, unknown>>;
export const noise: Readonly<Record<string, unknown>>;
export const deadly: Readonly<Record<string, unknown>>;
