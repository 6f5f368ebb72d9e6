/** `unknown` stands for a status that is null, absent or not one of the service's words. */
export const statuses = ["idle", "occupied", "error", "unknown"] as const;
export type Status = (typeof statuses)[number];

/** What a server changes from or to; `absent` is before it appeared and after it is gone. */
export const presences = [...statuses, "absent"] as const;
export type Presence = (typeof presences)[number];
