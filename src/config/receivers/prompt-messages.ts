import type { MessageConfig } from "../config.ts";

/** Of a receiver that groups by itself, or is told of no incident: everything, and at once. */
export const promptMessages: Omit<MessageConfig, "giveUpAfterMs"> = {
  groupBy: [],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  mergeAbove: 1,
  sendResolved: true,
  sendAcknowledged: true,
  maxIncidents: 100,
};
