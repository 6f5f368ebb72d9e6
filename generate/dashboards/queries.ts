import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { dataSource } from "./variables.ts";

type Prepare = (query: DataqueryBuilder) => DataqueryBuilder;

/** What a panel asks Prometheus. */
export interface Query {
  readonly expr: string;
  /** How it is asked, and in which form the answer is wanted. */
  readonly prepare: Prepare;
}

/** Over the time range. */
export function overTime(expr: string, legend: string): Query {
  return { expr, prepare: (query) => query.range().legendFormat(legend) };
}

/** At the end of the time range. */
export function atEnd(expr: string, legend: string): Query {
  return { expr, prepare: (query) => query.instant().legendFormat(legend) };
}

/** At the end of the time range, a column for each label. */
export function rows(expr: string): Query {
  return { expr, prepare: (query) => query.instant().format(PromQueryFormat.Table) };
}

/** Over the time range, a histogram's buckets. */
export function buckets(expr: string): Query {
  return {
    expr,
    prepare: (query) => query.range().format(PromQueryFormat.Heatmap).legendFormat("{{le}}"),
  };
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** What a panel calls one of its queries, of which there are at most 26. */
export function refId(index: number): string {
  return alphabet.charAt(index);
}

export function target({ expr, prepare }: Query, index: number): DataqueryBuilder {
  return prepare(new DataqueryBuilder().refId(refId(index)).datasource(dataSource).expr(expr));
}
