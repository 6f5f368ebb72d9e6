import type { Registry } from "prom-client";
import type { ProbeSubject } from "../alerts/incident.ts";
import type { ProbeView } from "../alerts/probe.ts";
import { addGauge } from "./gauge.ts";

/** How the probes do, and what their responses show. What was not observed recently has no series. */
export function addProbeGauges(registry: Registry, probes: readonly ProbeView[]): void {
  /** Of each probe that has a value. */
  const valuesOf = <Labels extends object>(
    shown: readonly ProbeView[],
    toLabels: (probe: ProbeView) => Labels,
    valueOf: (readings: ProbeView["readings"]) => number | null,
  ) =>
    shown.flatMap((probe) => {
      const value = valueOf(probe.readings);
      return value === null ? [] : [[toLabels(probe), value] as const];
    });

  addGauge(registry, {
    name: "sandwatch_probe_success",
    help: "Whether the last run of a probe met its expectations.",
    labels: ["probe", "region", "key", "operation"],
    read: () =>
      valuesOf(probes, ownLabels, ({ success }) => (success === null ? null : Number(success))),
  });

  addGauge(registry, {
    name: "sandwatch_probe_duration_seconds",
    help: "Duration of the last run of a probe, from its first request to the end of its last retry.",
    labels: ["probe", "region", "key", "operation"],
    read: () => valuesOf(probes, ownLabels, ({ durationMs }) => inSeconds(durationMs)),
  });

  addGauge(registry, {
    name: "sandwatch_universes",
    help: "Universes in the last readable response to a probe of universes.",
    labels: ["region", "key"],
    read: () =>
      valuesOf(
        latestByTarget(probes),
        ({ subject: { region, key } }) => ({ region, key }),
        ({ universes }) => universes,
      ),
  });

  addGauge(registry, {
    name: "sandwatch_user_last_used_timestamp_seconds",
    help: "When the user of a probe was last used, in seconds since 1970; absent if unknown.",
    labels: ["probe", "region", "key"],
    read: () =>
      valuesOf(
        probes,
        ({ subject }) => labelsOf(subject),
        ({ lastUsedAtMs }) => inSeconds(lastUsedAtMs),
      ),
  });
}

/** Several probes may count the universes of one target: the one that did so last is shown. */
function latestByTarget(probes: readonly ProbeView[]): readonly ProbeView[] {
  const counting = probes.filter(({ readings }) => readings.universes !== null);
  const byTarget = Map.groupBy(counting, ({ subject: { region, key } }) => `${region}/${key}`);
  return Array.from(byTarget.values(), (alike) =>
    alike.reduce((one, other) =>
      (other.readings.readAtMs ?? 0) > (one.readings.readAtMs ?? 0) ? other : one,
    ),
  );
}

function labelsOf({ probe, region, key }: ProbeSubject) {
  return { probe, region, key };
}

function ownLabels({ subject, operation }: ProbeView) {
  return { ...labelsOf(subject), operation };
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}
