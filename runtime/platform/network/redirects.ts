/** Statuses that redirect to the address in `Location`. */
export const redirects: readonly number[] = [301, 302, 303, 307, 308];

/** Those that say nothing about later requests: a proxy in front of a server answers with them until someone logs in. */
export const temporaryRedirects: readonly number[] = [302, 303, 307];
