import type { OccupancyView, RowView } from "../../reports/view.ts";

/** A report while it is told: its rows come one after the other, however many there are. */
export interface ToldReport extends Pick<OccupancyView, "from" | "to" | "tz" | "by" | "notes"> {
  readonly rows: AsyncIterable<RowView>;
}

/** Texts to be written one after the other. */
export type Texts = AsyncIterable<string>;
