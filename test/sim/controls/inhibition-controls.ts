import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import { ofIncidents, ofPart, ofStore, type NegativeControl } from "./mutation.ts";

const allReceivers = ["oncall", "team", "board"];

/** Daemons that notify receivers of what another incident explains, or not of what none does. */
export const inhibitionControls: Readonly<Record<string, NegativeControl>> = {
  "never inhibits": {
    from: 9,
    caughtAs: /was notified to .*, though another incident explains it/,
    ...ofIncidents(({ written, steps }) => {
      const inhibited = new Set(
        steps.flatMap(({ step, incident }) => (step === "inhibited" ? [incident.id] : [])),
      );
      return {
        written: written.map((each) =>
          inhibited.has(each.id) ? { ...each, receivers: allReceivers } : each,
        ),
      };
    }),
  },
  "inhibits for ever": {
    from: 50,
    caughtAs:
      /nobody was notified, though it held|was sent incident\.firing of .* 0 times instead of 1/,
    ...ofStore((store) => {
      const inhibited = new Set<string>();
      return {
        commitPoll(targetId, verdict) {
          const { written, outbox } = verdict.incidents;
          for (const each of written) if (each.inhibitedBy !== null) inhibited.add(each.id);
          const left = outbox.filter(({ incident }) => !inhibited.has(incident.id));
          const incidents = { ...verdict.incidents, outbox: left };
          return store.commitPoll(targetId, { ...verdict, incidents });
        },
      };
    }),
  },
  "inhibits without an inhibitor": {
    from: 50,
    caughtAs: /is inhibited by .*, which does not explain it/,
    ...ofIncidents(({ written }) => ({
      written: written.map((each) => {
        const isDown = each.subject.kind === "target" && each.phase.name === "firing";
        return isDown ? { ...each, inhibitedBy: "incident-0" } : each;
      }),
    })),
  },
  "does not inhibit by what is silenced": {
    from: 99,
    caughtAs: /was notified to .*, though another incident explains it/,
    ...ofStore((store) => {
      const muted = new Set<string>();
      const note = ({ steps }: IncidentOutcome): void => {
        for (const { step, incident } of steps) if (step === "muted") muted.add(incident.id);
      };
      return {
        commitPoll(targetId, verdict) {
          note(verdict.incidents);
          const written = verdict.incidents.written.map((each) =>
            muted.has(each.inhibitedBy ?? "") ? { ...each, receivers: allReceivers } : each,
          );
          const incidents = { ...verdict.incidents, written };
          return store.commitPoll(targetId, { ...verdict, incidents });
        },
        regions: {
          ...store.regions,
          commit(region, incidents) {
            note(incidents);
            return store.regions.commit(region, incidents);
          },
        },
      };
    }),
  },
  "fires a region for one target": {
    from: 50,
    caughtAs: /fired though less than half of its targets failed/,
    ...ofPart("regions", (regions) => ({
      async read(region) {
        const stored = await regions.read(region);
        return { ...stored, targets: [...stored.targets, ...stored.targets] };
      },
    })),
  },
  "fires a region for two of many targets": {
    from: 179,
    caughtAs: /fired though less than half of its targets failed/,
    ...ofPart("regions", (regions) => ({
      async read(region) {
        const stored = await regions.read(region);
        const failing = stored.targets.filter(({ failure }) => failure !== null);
        return failing.length === 0 ? stored : { ...stored, targets: failing };
      },
    })),
  },
  "never judges whether a region fails": {
    from: 54,
    caughtAs: /region-down .*: did not fire for what failed/,
    ...ofPart("regions", (regions) => ({
      read: async (region) => ({ ...(await regions.read(region)), targets: [] }),
    })),
  },
  "starts the incident of a region when it fires": {
    from: 54,
    caughtAs: /region-down .*: .* did not start with a failure/,
    ...ofPart("regions", (regions) => ({
      commit(region, { written, ...more }) {
        const late = written.map((each) => ({ ...each, startedAtMs: each.firedAtMs ?? 0 }));
        return regions.commit(region, { ...more, written: late });
      },
    })),
  },
  "notifies of a region that is silenced": {
    from: 85,
    caughtAs: /region-down .*: .* was notified while it was silenced/,
    ...ofPart("regions", (regions) => ({
      commit: (region, { written, ...more }) =>
        regions.commit(region, {
          ...more,
          written: written.map((each) =>
            each.phase.name === "firing"
              ? { ...each, phase: { ...each.phase, notifiedAtMs: each.phase.notifiedAtMs ?? 0 } }
              : each,
          ),
        }),
    })),
  },
  "notifies of no region": {
    from: 21,
    caughtAs: /region-down .*: .* fired and was not notified/,
    ...ofPart("regions", (regions) => ({
      commit: (region, { written, ...more }) =>
        regions.commit(region, {
          ...more,
          outbox: [],
          written: written.map((each) =>
            each.phase.name === "firing"
              ? { ...each, receivers: [], phase: { ...each.phase, notifiedAtMs: null } }
              : each,
          ),
        }),
    })),
  },
};
