import { Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** Each series with its labels. */
export type Series<Label extends string> = Iterable<
  readonly [labels: Readonly<Record<Label, string>>, value: number]
>;

export interface ReadGauge<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
  /** All series as they are now. Where it rejects, a scrape lacks the gauge. */
  readonly read: () => Series<Label> | Promise<Series<Label>>;
}

/** Registers a gauge whose series are read at each scrape. */
export function addGauge<Label extends string>(
  registry: Registry,
  { name, help, labels: labelNames, read }: ReadGauge<Label>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      const show = (series: Series<Label>): void => {
        this.reset();
        for (const [labels, value] of series) this.set(labels, value);
      };
      const series = read();
      return series instanceof Promise ? series.then(show) : show(series);
    },
  });
}
