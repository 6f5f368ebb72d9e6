import { targetName, type Target } from "../fleet/model.ts";

/** What a pinned server shows: any status, null, or `absent` for no server at all. */
export interface Pin {
  readonly status: string | null;
  /** UTC milliseconds at which it was pinned. */
  readonly sinceMs: number;
}

export interface Pins {
  pin(target: Target, serverId: string, pin: Pin): void;
  unpin(target: Target, serverId: string): void;
  /** By server id. */
  of(target: Target): ReadonlyMap<string, Pin>;
}

const none: ReadonlyMap<string, Pin> = new Map();

export function createPins(): Pins {
  const byTarget = new Map<string, Map<string, Pin>>();
  return {
    pin(target, serverId, pin) {
      const pins = byTarget.get(targetName(target)) ?? new Map<string, Pin>();
      byTarget.set(targetName(target), pins.set(serverId, pin));
    },
    unpin(target, serverId) {
      byTarget.get(targetName(target))?.delete(serverId);
    },
    of: (target) => byTarget.get(targetName(target)) ?? none,
  };
}
