/** The highest major that both sides speak; `undefined` where there is none. A side speaks its own and the one before it. */
export const highestCommon = (own: readonly number[], offered: readonly number[]): number | undefined =>
  own.filter((one) => offered.includes(one)).sort((a, b) => b - a)[0];
