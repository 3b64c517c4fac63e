/** An amount of money without the rounding error of binary fractions: 0.2 + 0.2 + 0.2 is 0.6, and not 0.6000000000000001. */
export const roundDollars = (amount: number): number => Number(amount.toFixed(12));
