/** `unknown` stands for a status that is null, absent or not one of the service's words. */
export const statuses = ["idle", "occupied", "error", "unknown"] as const;
export type Status = (typeof statuses)[number];

/** The state before or after a change of a server; `absent`: it has not appeared yet, or is gone. */
export const presences = [...statuses, "absent"] as const;
export type Presence = (typeof presences)[number];
