import { longestOutageMs } from "../scenario.ts";
import type { Dice } from "../draw/dice.ts";
import type { Disk } from "./disk.ts";
import type { Host } from "./host.ts";
import { receiverFaults, type ScriptedReceiver } from "./scripted-receiver.ts";
import { serviceFaults, type createScriptedService } from "./scripted-service.ts";
import { atTimes, often, type World } from "./world.ts";

interface Peers {
  readonly service: ReturnType<typeof createScriptedService>;
  readonly receivers: readonly ScriptedReceiver[];
  readonly host: Host;
  readonly disk: Disk;
}

const hourMs = 3_600_000;

/** Makes the service, receivers, processes, disk and clock fail from now on, until the world becomes calm. */
export function beginFaults(world: World, peers: Peers, onWallClock: () => void): void {
  const { scenario, time, killSwitch } = world;
  const { service, receivers, host, disk } = peers;
  const { intervalMs, calmMs } = scenario;
  const dice = world.dice.fork("chaos");

  /** Each fault is there in some worlds only, and in some of them often. */
  const rate = (own: Dice, usual: number): number =>
    own.pick([0, usual / 2, usual, usual, usual * 3]) + 0.01;
  const endLater = (own: Dice, least: number, most: number, end: () => void): void => {
    const ms = (least + own.random() ** 2 * (most - least)) * intervalMs;
    time.setTimer(Math.min(ms, longestOutageMs), end);
  };

  for (const region of new Set(scenario.targets.map((target) => target.region))) {
    const own = dice.fork(`service ${region}`);
    often(world, own, rate(own, 4), () => {
      service.fail(region, own.pick(["hangs", ...serviceFaults]), own.pick([0.3, 0.7, 1, 1]));
      endLater(own, 0.2, 15, () => service.recover(region));
    });
  }
  const keys = [...new Set(scenario.targets.map((target) => target.key))];
  for (const key of keys) {
    const own = dice.fork(`key ${key}`);
    often(world, own, rate(own, 1), () => {
      service.fail(key, own.pick(["rejects_the_key", "rejects_the_key", "limits", "fails"]), 1);
      endLater(own, 0.5, 12, () => service.recover(key));
    });
  }
  const some = dice.fork("some keys");
  // Beyond what is half of a smaller region.
  often(world, some, keys.length > 3 ? rate(some, 3) : 0, () => {
    const fault = some.pick(["fails", "fails", "rejects_the_key", "limits"] as const);
    for (const key of keys.filter(() => some.chance(0.4))) {
      const waitMs = some.random() * some.pick([0.2, 2, 6]) * intervalMs;
      time.setTimer(waitMs, () => {
        if (time.nowMs >= calmMs) return;
        service.fail(key, fault, 1);
        endLater(some, 1, 12, () => service.recover(key));
      });
    }
  });
  for (const [index, receiver] of receivers.entries()) {
    const own = dice.fork(`receiver ${index}`);
    often(world, own, rate(own, 3), () => {
      const usual = ["hangs", "refuses_for_good", "refuses_for_good"] as const;
      const fault = own.pick([...usual, ...receiverFaults]);
      receiver.fail(fault, own.pick([0.3, 0.6, 1, 1]));
      endLater(own, 0.5, 30, () => receiver.recover());
    });
  }
  const kills = dice.fork("kills");
  often(world, kills, rate(kills, 6), () =>
    killSwitch.killAfter(
      kills.pick(["news", "news", "news", "taken", "now", "news", "taken", "start"] as const),
    ),
  );
  const stops = dice.fork("stops");
  often(world, stops, rate(stops, 0.7), () => host.stop());
  const disks = dice.fork("disk");
  often(world, disks, rate(disks, 1.5), () => {
    const trouble = disks.pick([
      { refuses: 0.05, stalls: 0 },
      { refuses: 0.3, stalls: 0.1 },
      { refuses: 0, stalls: 0.2 },
      { refuses: 1, stalls: 0 },
    ]);
    world.log(`the store refuses ${trouble.refuses} and delays ${trouble.stalls} of statements`);
    disk.begin(trouble);
    endLater(disks, 0.2, 4, () => {
      world.log("the store is well again");
      disk.end();
    });
  });
  const clocks = dice.fork("wall clock");
  atTimes(world, clocks, clocks.pick([0, 0, 1, 2, 3]), calmMs, () => {
    const ms = Math.round((clocks.random() * 2 - 1) * clocks.pick([1_000, 120_000, 3 * hourMs]));
    world.log(`the wall clock is stepped by ${ms} ms`);
    time.stepWallClock(ms);
    onWallClock();
  });

  time.setTimer(calmMs, () => {
    world.log("from now on nothing goes wrong");
    service.calm();
    for (const receiver of receivers) receiver.recover();
    killSwitch.reset();
    disk.end();
  });
}
