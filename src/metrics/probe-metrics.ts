import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { ProbeSubject } from "../core/incident.ts";
import type { ProbeReadings } from "../core/probe-readings.ts";
import type { ProbeView } from "../core/probe-view.ts";

/** How the probes do, and what their answers show. What was not seen of late has no series. */
export function createProbeMetrics(registry: Registry, probes: readonly ProbeView[]): void {
  const registers = [registry];
  const ownLabels = ["probe", "region", "key", "operation"] as const;

  const show = (gauge: Gauge<(typeof ownLabels)[number]>, valueOf: Reading): void => {
    gauge.reset();
    for (const { subject, operation, readings } of probes) {
      const value = valueOf(readings);
      if (value !== null) gauge.set({ ...labelsOf(subject), operation }, value);
    }
  };

  new Gauge({
    name: "sandwatch_probe_success",
    help: "Whether the last run of a probe met its expectations.",
    labelNames: ownLabels,
    registers,
    collect() {
      show(this, ({ success }) => (success === null ? null : Number(success)));
    },
  });

  new Gauge({
    name: "sandwatch_probe_duration_seconds",
    help: "Duration of the last run of a probe, from its first request to the end of its last retry.",
    labelNames: ownLabels,
    registers,
    collect() {
      show(this, ({ durationMs }) => inSeconds(durationMs));
    },
  });

  new Gauge({
    name: "sandwatch_universes",
    help: "Universes in the last readable response to a probe of universes.",
    labelNames: ["region", "key"],
    registers,
    collect() {
      this.reset();
      for (const [{ region, key }, { universes }] of latestByTarget(probes)) {
        if (universes !== null) this.set({ region, key }, universes);
      }
    },
  });

  new Gauge({
    name: "sandwatch_user_last_used_timestamp_seconds",
    help: "When the user of a probe was last used, in seconds since 1970; absent if unknown.",
    labelNames: ["probe", "region", "key"],
    registers,
    collect() {
      this.reset();
      for (const { subject, readings } of probes) {
        const seconds = inSeconds(readings.lastUsedAtMs);
        if (seconds !== null) this.set(labelsOf(subject), seconds);
      }
    },
  });
}

type Reading = (readings: ProbeReadings) => number | null;

/** Several probes may count the universes of one target: the one that did so last is shown. */
function latestByTarget(
  probes: readonly ProbeView[],
): Iterable<readonly [ProbeSubject, ProbeReadings]> {
  const counting = probes.filter(({ readings }) => readings.universes !== null);
  const byTarget = Map.groupBy(counting, ({ subject: { region, key } }) => `${region}/${key}`);
  return Array.from(byTarget.values(), (alike) => {
    const latest = alike.reduce((one, other) =>
      (other.readings.readAtMs ?? 0) > (one.readings.readAtMs ?? 0) ? other : one,
    );
    return [latest.subject, latest.readings] as const;
  });
}

function labelsOf({ probe, region, key }: ProbeSubject) {
  return { probe, region, key };
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}
