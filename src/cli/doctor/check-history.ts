import type { Config } from "../../config/config.ts";
import { countText } from "../../fleet/text.ts";
import { openConfiguredReadOnly } from "../../store/store.ts";
import { StoreError } from "../../store/store-error.ts";
import type { Finding } from "./finding.ts";

const dayMs = 24 * 60 * 60_000;
/** With its indexes. */
const bytesPerChange = 100;
const GB = 1e9;
const mostBytes = 10 * GB;

/** What a store has that is checked. Null: it cannot be read, which is reported elsewhere. */
export async function readStore({ store }: Pick<Config, "store">) {
  try {
    await using opened = new AsyncDisposableStack();
    const reading = opened.adopt(await openConfiguredReadOnly(store), (each) => each.close());
    return {
      changesADay: await reading.changes.countSince(Date.now() - dayMs),
      processes: await reading.processes(),
    };
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}

/** The space that changes will take. */
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
