import { Gauge, type Registry } from "prom-client";

export type Series = Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

/** A gauge whose series are read at each scrape. */
export interface GaugeFamily {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** If it rejects, the scrape lacks the gauge. */
  readonly read: () => Series | Promise<Series>;
}

export function register(registry: Registry, families: readonly GaugeFamily[]): void {
  for (const { name, help, labels: labelNames, read } of families) {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        const show = (series: Series): void => {
          this.reset();
          // prom-client resets a gauge without labels to a series of 0, which says more than that there is none.
          if (labelNames.length === 0) this.remove();
          for (const [labels, value] of series) this.set(labels, value);
        };
        const series = read();
        return series instanceof Promise ? series.then(show) : show(series);
      },
    });
  }
}
