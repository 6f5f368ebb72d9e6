import { Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** How the configuration was last read. */
export interface ReloadView {
  readonly successful: boolean;
  /** UTC milliseconds. */
  readonly successAtMs: number;
}

export function createReloadMetrics(registry: Registry, read: () => ReloadView): void {
  new Gauge({
    name: "sandwatch_config_last_reload_successful",
    help: "Whether the configuration was valid when it was last read.",
    registers: [registry],
    collect() {
      this.set(Number(read().successful));
    },
  });
  new Gauge({
    name: "sandwatch_config_last_reload_success_timestamp_seconds",
    help: "When the configuration in use was read, in seconds since 1970.",
    registers: [registry],
    collect() {
      this.set(read().successAtMs / 1_000);
    },
  });
}
