import type { SilenceFacts } from "./silence.ts";

/** What people said about alerts, as far as it decides what is told. */
export interface Interventions {
  /** Whether a silence or a maintenance window in force at a moment (UTC milliseconds) is about it. */
  silenced(facts: SilenceFacts, atMs: number): boolean;
  /** Who acknowledged an incident; null: nobody. */
  acknowledgedBy(incidentId: string): string | null;
}

export const noInterventions: Interventions = {
  silenced: () => false,
  acknowledgedBy: () => null,
};
