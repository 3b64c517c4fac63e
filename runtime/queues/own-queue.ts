/** Name of the queue that the database itself is; no plugin's can have it. */
export const ownQueue = "postgres";
