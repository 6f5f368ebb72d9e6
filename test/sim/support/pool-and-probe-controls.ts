import { countsByItself } from "./listing-mutations.ts";
import {
  waitsForNoPool,
  dropsNotificationsOfPools,
  forgetsPoolClocksAtRestart,
  probesTwiceAsOften,
  probesRarely,
  expectsNothing,
  probesRefusedKeys,
  ignoresRetryAfterOfProbes,
  dropsNotificationsOfProbes,
} from "./pool-and-probe-mutations.ts";

/** Daemons that break what is promised of pools and probes. */
export const poolAndProbeControls = [
  {
    name: "notifies of a pool at once",
    mutation: waitsForNoPool,
    from: 39,
    caughtAs: /pool .*: incident-\d+ was told too early/,
  },
  {
    name: "notifies of no pool",
    mutation: dropsNotificationsOfPools,
    from: 36,
    caughtAs: /pool .*: nobody was told/,
  },
  {
    name: "judges pools by listings in part",
    mutation: countsByItself,
    from: 51,
    caughtAs: /pool .*: (incident|nobody)/,
  },
  {
    name: "forgets at a restart for how long pools were observed",
    mutation: forgetsPoolClocksAtRestart,
    from: 39,
    caughtAs: /pool .*: (incident|nobody)/,
  },
  {
    name: "runs probes twice as often",
    mutation: probesTwiceAsOften,
    from: 51,
    caughtAs: /\/.* of .* had \d+ turns/,
  },
  {
    name: "runs probes rarely",
    mutation: probesRarely,
    from: 51,
    caughtAs: /did not ask for \/.* of/,
  },
  {
    name: "expects nothing of the answers to probes",
    mutation: expectsNothing,
    from: 93,
    caughtAs: /probe .*: (incident|nobody)/,
  },
  {
    name: "notifies of no probe",
    mutation: dropsNotificationsOfProbes,
    from: 93,
    caughtAs: /probe .*: nobody was told/,
  },
  {
    name: "probes at every run with a key that is refused",
    mutation: probesRefusedKeys,
    from: 93,
    caughtAs: /\/.* of .* had refused the key \d+ times in a row/,
  },
  {
    name: "ignores Retry-After in answers to probes",
    mutation: ignoresRetryAfterOfProbes,
    from: 93,
    caughtAs: /asked for \d+.* of patience/,
  },
] as const;
