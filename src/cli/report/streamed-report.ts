import type { OccupancyView, RowView } from "../../api/operations/occupancy.ts";

/** A report whose rows are read one after the other, however many there are. */
export interface StreamedReport extends Omit<OccupancyView, "rows" | "next"> {
  readonly rows: AsyncIterable<RowView>;
}

/** Texts to be written one after the other. */
export type Texts = AsyncIterable<string>;
