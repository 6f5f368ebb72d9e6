import type { SilenceMatch } from "./silence.ts";

/** What the configuration says is to be silent again and again. */
export interface MaintenanceWindow {
  readonly name: string;
  /** A cron expression of five fields, or six with seconds first, in `timeZone`. */
  readonly start: string;
  readonly timeZone: string;
  readonly durationMs: number;
  readonly match: SilenceMatch;
  /** Null: it says none. */
  readonly reason: string | null;
}
