/** `1 run`, `12 runs`. `noun`: of one item; its plural ends with an s. */
export const amountText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
