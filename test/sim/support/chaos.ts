import type { Scenario } from "../scenario.ts";
import { longestOutageMs } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import type { Fuse } from "./fuse.ts";
import { fuseTriggers } from "./fuse.ts";
import type { Host } from "./host.ts";
import type { ScriptedReceiver } from "./scripted-receiver.ts";
import { receiverTroubles } from "./scripted-receiver.ts";
import type { ScriptedService } from "./scripted-service.ts";
import { serviceTroubles } from "./scripted-service.ts";
import type { StoreTroubles } from "./store-troubles.ts";
import type { Trace } from "./trace.ts";
import type { WorldTime } from "./world-time.ts";

export interface ChaosDeps {
  readonly scenario: Scenario;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly service: ScriptedService;
  readonly receivers: readonly ScriptedReceiver[];
  readonly host: Host;
  readonly fuse: Fuse;
  readonly store: StoreTroubles;
  readonly onWallClock: () => void;
}

const hourMs = 3_600_000;

/** Has things go wrong from now on, until all of it ends when the world becomes calm. */
export function beginChaos(deps: ChaosDeps): void {
  const { scenario, time, dice, trace, service, receivers, host, fuse, store } = deps;
  const { intervalMs, calmMs } = scenario;
  const polls = calmMs / intervalMs;
  let calm = false;

  /** So many times a hundred polls, in the mean. */
  const often = (timesInHundred: number, own: Dice, happen: () => void): void => {
    const meanMs = (100 / timesInHundred) * intervalMs;
    const next = (): void => {
      const waitMs = -Math.log(1 - own.random()) * meanMs;
      time.setTimer(waitMs, () => {
        if (calm) return;
        happen();
        next();
      });
    };
    next();
  };
  const forSome = (own: Dice, least: number, most: number, end: () => void): void => {
    const ms = (least + own.random() ** 2 * (most - least)) * intervalMs;
    time.setTimer(Math.min(ms, longestOutageMs), end);
  };
  /** Each kind of mishap is there in some worlds only, and in some of them often. */
  const rate = (own: Dice, usual: number): number =>
    own.pick([0, usual / 2, usual, usual, usual * 3]);

  const regions = [...new Set(scenario.targets.map(({ region }) => region))];
  for (const region of regions) {
    const own = dice.fork(`service ${region}`);
    often(rate(own, 4) + 0.01, own, () => {
      service.trouble(region, own.pick(["hangs", ...serviceTroubles]), own.pick([0.3, 0.7, 1, 1]));
      forSome(own, 0.2, 15, () => service.heal(region));
    });
  }
  for (const [index, receiver] of receivers.entries()) {
    const own = dice.fork(`receiver ${index}`);
    often(rate(own, 3) + 0.01, own, () => {
      receiver.trouble(
        own.pick(["hangs", "refuses_for_good", "refuses_for_good", ...receiverTroubles]),
        own.pick([0.3, 0.6, 1, 1]),
      );
      forSome(own, 0.5, 30, () => receiver.heal());
    });
  }
  const kills = dice.fork("kills");
  often(rate(kills, 6) + 0.01, kills, () =>
    fuse.set(kills.pick(["news", "news", "news", "taken", ...fuseTriggers])),
  );
  const stops = dice.fork("stops");
  often(rate(stops, 0.7) + 0.01, stops, () => host.stop());
  const disk = dice.fork("disk");
  often(rate(disk, 1.5) + 0.01, disk, () => {
    const trouble = disk.pick([
      { refuses: 0.05, stalls: 0 },
      { refuses: 0.3, stalls: 0.1 },
      { refuses: 0, stalls: 0.2 },
      { refuses: 1, stalls: 0 },
    ]);
    trace.tell(`the store refuses ${trouble.refuses} and delays ${trouble.stalls} of statements`);
    store.begin(trouble);
    forSome(disk, 0.2, 4, () => {
      trace.tell("the store is well again");
      store.end();
    });
  });
  const clocks = dice.fork("wall clock");
  for (let steps = clocks.pick([0, 0, 1, 2, 3]); steps > 0; steps--) {
    time.setTimer(clocks.random() * polls * intervalMs, () => {
      const ms = Math.round((clocks.random() * 2 - 1) * clocks.pick([1_000, 120_000, 3 * hourMs]));
      trace.tell(`the wall clock is stepped by ${ms} ms`);
      time.stepWallClock(ms);
      deps.onWallClock();
    });
  }

  time.setTimer(calmMs, () => {
    calm = true;
    trace.tell("from now on nothing goes wrong");
    service.calm();
    for (const receiver of receivers) receiver.heal();
    fuse.put();
    store.end();
  });
}
