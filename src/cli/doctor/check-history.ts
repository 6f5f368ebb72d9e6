import type { Config } from "../../config/config.ts";
import { countText } from "../../fleet/plural.ts";
import { openConfiguredReadOnly } from "../../store/store.ts";
import { StoreError } from "../../store/store-error.ts";
import type { Finding } from "./finding.ts";

const dayMs = 24 * 60 * 60_000;
/** With its indexes. */
const bytesPerChange = 100;
const GB = 1e9;
const mostBytes = 10 * GB;

/** The space that changes will take. A store that cannot be read is reported elsewhere. */
export async function checkHistory({ store, history }: Config): Promise<readonly Finding[]> {
  try {
    const opened = await openConfiguredReadOnly(store);
    try {
      const changesADay = await opened.reports.countChanges(Date.now() - dayMs);
      return [describeGrowth(changesADay, history.changes)];
    } finally {
      await opened.close();
    }
  } catch (error) {
    if (error instanceof StoreError) return [];
    throw error;
  }
}

/** @param keptMs null: for ever */
export function describeGrowth(changesADay: number, keptMs: number | null): Finding {
  const days = (keptMs ?? 365 * dayMs) / dayMs;
  const bytes = changesADay * bytesPerChange * days;
  const size = bytes < GB ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / GB).toFixed(1)} GB`;
  const kept =
    keptMs === null
      ? `kept forever, they take about ${size} a year`
      : `kept for ${countText(days)} days, they take about ${size}`;
  const text = `${countText(changesADay)} changes in the last 24 hours: ${kept}`;
  if (bytes <= mostBytes) return { level: "ok", text };
  const mend =
    "Shorten history.changes: reports of hours and days do not need changes that are rolled up.";
  return { level: "warning", text, mend };
}
