import type { SilenceFacts } from "./silence.ts";

/** What people said about alerts, as far as it decides what is told. */
export interface Interventions {
  /**
   * Tells what the silences and maintenance windows in force at a moment (UTC milliseconds) are about;
   * null: none is in force.
   */
  silencedAt(atMs: number): Silenced | null;
  /** Who acknowledged an incident; null: nobody. */
  acknowledgedBy(incidentId: string): string | null;
}

export type Silenced = (facts: SilenceFacts) => boolean;

export const noInterventions: Interventions = {
  silencedAt: () => null,
  acknowledgedBy: () => null,
};
