/** `unknown` stands for a status that is null, absent or not one of the service's words. */
export const statuses = ["idle", "occupied", "error", "unknown"] as const;
export type Status = (typeof statuses)[number];

/** The state before or after a change of a server; `absent`: it has not appeared yet, or is gone. */
export const presences = [...statuses, "absent"] as const;
export type Presence = (typeof presences)[number];

/** Why a call of the service gave nothing that could be used. A closed set: it labels metrics. */
export const failureReasons = [
  "timeout",
  "network",
  "auth",
  "rate_limited",
  "server_error",
  "http_error",
  "invalid_body",
  "too_large",
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** The service's five operations. A closed set: it labels metrics. */
export const operations = [
  "list_sandboxes",
  "get_user",
  "list_universes",
  "get_universe_data",
  "get_white_label",
] as const;
export type Operation = (typeof operations)[number];

/** One key, known by its configured name, in one region. */
export interface Target {
  readonly region: string;
  readonly key: string;
}

/** A target as one string, for maps and hashes. Names hold no slash: the configuration sees to it. */
export function targetName(target: Target): string {
  return `${target.region}/${target.key}`;
}

/** One moment on both clocks: UTC for timestamps, the monotonic one for durations. */
export interface Instant {
  /** Milliseconds since 1970 in UTC. Can be stepped, also backwards. */
  readonly utcMs: number;
  /** Milliseconds since an arbitrary moment of this process. Never goes backwards. */
  readonly monotonicMs: number;
}
