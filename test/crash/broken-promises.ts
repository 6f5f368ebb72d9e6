import type { Killings } from "./kill-victims.ts";

/** What went wrong: one line for each promise that was broken. */
export function brokenPromises({ alerts, refused, episodes }: Killings): readonly string[] {
  const faults = refused.map((reason) => `refused: ${reason}`);
  const byIncident = Map.groupBy(alerts, ({ data }) => data.incidents[0]?.id ?? "none");
  if (byIncident.size !== episodes)
    faults.push(`${episodes} episodes, ${byIncident.size} incidents`);
  for (const [id, told] of byIncident) {
    const fired = told.filter(({ type }) => type === "incident.firing");
    const resolved = told.filter(({ type }) => type === "incident.resolved");
    if (new Set(fired.map(({ webhookId }) => webhookId)).size !== 1) {
      faults.push(`${id}: not exactly one message that it fires`);
    }
    if (new Set(resolved.map(({ webhookId }) => webhookId)).size !== 1) {
      faults.push(`${id}: not exactly one message that it is resolved`);
    }
    if (told[0]?.type !== "incident.firing") faults.push(`${id}: resolved before it fired`);
    if (
      told.some(
        ({ type }, index) =>
          type === "incident.firing" && told[index - 1]?.type === "incident.resolved",
      )
    ) {
      faults.push(`${id}: fired again after it was resolved`);
    }
  }
  return faults;
}
