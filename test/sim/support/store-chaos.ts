import type { StoreOutage } from "../history.ts";
import { longestOutageMs } from "../scenario.ts";
import type { Scenario } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import type { Host } from "./host.ts";
import type { DisplacedFiles } from "./displaced-files.ts";
import type { StoreTroubles } from "./store-troubles.ts";
import type { Trace } from "./trace.ts";
import type { WorldTime } from "./world-time.ts";

export interface StoreChaosDeps {
  readonly scenario: Scenario;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly host: Host;
  readonly store: StoreTroubles;
  readonly files: DisplacedFiles;
}

/** What happens to the files of the store. */
export interface StoreChaos {
  readonly replaced: readonly StoreOutage[];
  /** Whether a file is not in its place now. */
  readonly isDisplaced: boolean;
  /** To be called in each moment. */
  readonly passed: () => void;
  /** A process ends: whoever starts the next one puts the files back before. */
  ending(): void;
}

const minuteMs = 60_000;

/** Makes the disk read-only for some minutes, and moves files of the store away from the process that runs on it. */
export function beginStoreChaos(deps: StoreChaosDeps): StoreChaos {
  const { scenario, time, dice, trace, host, store, files } = deps;
  const { intervalMs, calmMs } = scenario;
  const replaced: StoreOutage[] = [];
  let present: { readonly life: number; readonly outage: StoreOutage } | null = null;

  /** At so many moments before the world becomes calm. */
  const at = (times: number, own: Dice, happen: () => void): void => {
    for (let left = times; left > 0; left--) time.setTimer(own.random() * calmMs, happen);
  };
  const someMs = (own: Dice): number => {
    const ms = Math.max(3 * minuteMs, (0.5 + own.random() * 5) * intervalMs);
    return Math.min(ms, longestOutageMs, calmMs - time.nowMs);
  };

  const disk = dice.fork("read-only disk");
  at(disk.pick([0, 0, 0, 1, 2]), disk, () => {
    trace.tell("the store is on a read-only disk");
    store.beginReadOnly();
    time.setTimer(someMs(disk), () => {
      trace.tell("the store can be written again");
      store.endReadOnly();
    });
  });

  const displacing = dice.fork("store files");
  at(displacing.pick([0, 0, 0, 0, 1]), displacing, () => {
    const life = host.lives.length;
    if (!host.api || host.lives[life - 1]?.lastPollMs !== null) return;
    const how = files.displace(host.storePath, displacing);
    if (how === null) return;
    trace.tell(`the store of process ${life} is ${how}`);
    const outage: StoreOutage = {
      fromMs: time.nowMs,
      toMs: Infinity,
      life,
      what: "was replaced",
    };
    replaced.push(outage);
    present = { life, outage };
    // Somebody notices, stops it, puts the files back and starts it again.
    time.setTimer(someMs(displacing), () => {
      if (present?.life === life) host.stop();
    });
  });

  return {
    replaced,
    get isDisplaced() {
      return present !== null;
    },
    passed() {
      if (present) store.markFault(present.life);
    },
    ending() {
      if (!present) return;
      files.putBack();
      trace.tell("the store's files are put back");
      present.outage.toMs = time.nowMs;
      present = null;
    },
  };
}
