/**
 * The highest major version that host and process both support; `undefined` if there is none. Each supports its own and the
 * previous one.
 */
export const highestCommon = (own: readonly number[], offered: readonly number[]): number | undefined =>
  own.filter((one) => offered.includes(one)).sort((a, b) => b - a)[0];
