import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createListingReader } from "../../src/service/listing-reader.ts";
import { openStore } from "../../src/store/store.ts";
import { testConfig } from "../support/test-config.ts";
import type { Mutation } from "./controls/mutation.ts";
import { longestWaitMs, stageAt } from "./draw/receivers.ts";
import type { Attempt, Heartbeat, Page, Recorded, Scrape, WallClock } from "./history.ts";
import { receiverOrigin, type Scenario } from "./scenario.ts";
import { settingsOf, type Configured } from "./settings.ts";
import { beginDiskFaults, createDisk } from "./support/disk.ts";
import { beginFaults } from "./support/faults.ts";
import { createHost } from "./support/host.ts";
import { beginPeople } from "./support/people.ts";
import { recordMessages, recordPages } from "./support/received-messages.ts";
import { createScriptedReceiver } from "./support/scripted-receiver.ts";
import { createScriptedService } from "./support/scripted-service.ts";
import { createStoredWrites, readStored } from "./support/stored.ts";
import type { Peer } from "./support/virtual-network.ts";
import { comeToRest, type WorldTime } from "./support/world-time.ts";
import { createWorld, type StoryLine, type World } from "./support/world.ts";

export interface Run {
  readonly scenario: Scenario;
  readonly history: Recorded;
  readonly story: readonly StoryLine[];
  /** The same for every run of the same seed. */
  readonly hash: string;
}

let warm: Promise<void> | undefined;

/** What the product does once and keeps must not make the first world differ from the same one later. */
async function warmUp(): Promise<void> {
  using folder = worldFolder();
  const path = join(folder.path, "warm.db");
  await openStore(path).close();
  await openStore(path).close();
  // It waits until its hash function is compiled, which a thread does.
  await createListingReader();
}

/** When a run may be judged before its end, as shares of the time in which anything fails. */
const stops = [1 / 8, 1 / 4, 1 / 2, 1];

/**
 * Runs the daemon through one world, which its seed determines to the last detail.
 *
 * @param endsAt is given the run so far at each stop, while a process polls; true ends the world there
 */
export async function simulate(
  seed: number,
  mutation: Mutation = {},
  endsAt?: (run: Run, stop: number) => boolean,
): Promise<Run> {
  await (warm ??= warmUp());
  using folder = worldFolder();
  const world = createWorld(seed, folder.path);
  const { scenario, time } = world;
  const { pagerduty } = scenario;
  const attempts: Attempt[] = [];
  const pages: Page[] = [];
  const heartbeats: Heartbeat[] = [];
  const scrapes: Scrape[] = [];
  const refused: string[] = [];
  const commits = new Set<number>();
  const wallClocks: WallClock[] = [{ fromMs: 0, offsetMs: scenario.startUtcMs }];

  const service = createScriptedService(world, () => world.killSwitch.happened("news"));
  const recorders = new Map(
    scenario.receivers.map((each) => [each.name, recordMessages(each, time, attempts)]),
  );
  if (pagerduty) recorders.set(pagerduty.name, recordPages(time, pages));
  const receivers = Array.from(recorders, ([name, record]) =>
    createScriptedReceiver(world, name, refused, record),
  );
  const pulse: Peer = {
    origin: receiverOrigin("pulse"),
    receive({ sender: life, exchange }) {
      heartbeats.push({ life, sentMs: exchange.sentMs, atMs: time.nowMs });
      return { kind: "answers", afterMs: 5, status: 200, chunks: ["ok"], chunkMs: 0 };
    },
  };
  const peers = [
    ...service.peers.map((peer) => mutateAnswers(peer, time, mutation)),
    ...receivers.map((peer) => mutateRequests(peer, mutation)),
    pulse,
  ];
  const disk = createDisk(world);
  const writes = createStoredWrites(time, scenario.probes.length > 0);
  const configure = () => {
    const configured = configuredNow(world);
    const mutated = mutation.configured?.(configured) ?? configured;
    return { configured, config: testConfig(settingsOf(mutated)) };
  };
  using host = createHost({
    world,
    folder: folder.path,
    peers: new Map(peers.map((peer) => [peer.origin, peer])),
    disk,
    mutation,
    configure,
    onStart() {
      world.killSwitch.happened("start");
      if (mutation.pingsAtStart !== true) return;
      heartbeats.push({ life: host.lives.length, sentMs: time.nowMs, atMs: time.nowMs });
    },
    onCommit(database, life) {
      commits.add(time.now().moment);
      writes.onCommit(database, life);
    },
    onPollTaken(id, shownUtcMs, life) {
      commits.add(time.now().moment);
      writes.onPollTaken(id, shownUtcMs, life);
    },
    onEnding: () => writes.onEnding(),
  });

  service.begin();
  host.start();
  for (const { fromMs } of scenario.stages.slice(1)) {
    time.setTimer(fromMs, () => void host.reload());
  }
  beginFaults(world, { service, receivers, host, disk }, () => {
    wallClocks.push({ fromMs: time.nowMs, offsetMs: time.utcMs - time.nowMs });
  });
  beginDiskFaults(world, disk);
  const people = beginPeople(world, host, attempts);
  const scraping = world.dice.fork("scrapes");
  const scrapeLater = (): void => {
    time.setTimer((1 + scraping.random() * 7) * scenario.intervalMs, () => {
      host.scrape((scrape) => scrapes.push(mutation.scraped?.(scrape) ?? scrape));
      scrapeLater();
    });
  };
  scrapeLater();
  const runUntil = (endMs: number, left: Recorded["left"], stored: Recorded["stored"]): Run => ({
    scenario,
    story: world.story,
    hash: world.hash(),
    history: {
      lives: host.lives,
      wallClocks,
      dueMs: time.dueMs,
      stalls: disk.stalls,
      endMs,
      requests: service.requests,
      attempts,
      pages,
      heartbeats,
      scrapes,
      refused,
      ...people,
      storeOutages: disk.outages,
      storeFaults: disk.faults,
      commits,
      ...writes.takenOver(),
      storedBackOffs: writes.backOffs,
      storedIncidents: writes.incidents,
      storedRuns: writes.runs,
      left,
      stored,
    },
  });
  for (const [stop, share] of (endsAt ? stops : []).entries()) {
    await passUntil(time, Math.round(share * scenario.calmMs));
    if (writes.isBackingOff()) continue;
    const path = host.copyStore(`stop-${stop}`);
    if (path === null) continue;
    let stored: Recorded["stored"] = new Map();
    await host.beside(async () => {
      ({ stored } = await readStored(path, scenario, Infinity));
    });
    const run = runUntil(time.nowMs, [], stored);
    if (stored.size > 0 && endsAt?.(run, stop)) return run;
  }
  await passUntil(time, scenario.endMs);
  host.retire();
  host.stop();
  await passUntil(time, scenario.endMs + 60_000);

  // A group that began to wait just before the end still waits.
  const waitingUtcMs = time.utcMs - longestWaitMs - 2 * 60_000;
  const { left, stored } = await readStored(host.storePath, scenario, waitingUtcMs);
  return runUntil(scenario.endMs, [...left, ...writes.faults], stored);
}

async function passUntil(time: WorldTime, untilMs: number): Promise<void> {
  do await comeToRest();
  while (time.jump(untilMs));
}

/** What a process that starts now is configured with. */
function configuredNow({ scenario, time }: World): Configured {
  const { later, stages } = scenario;
  const rules = later !== null && time.nowMs >= later.fromMs ? later.rules : scenario.rules;
  return { ...scenario, rules, stage: stageAt(stages, time.nowMs) };
}

function mutateRequests(peer: Peer, { sent }: Mutation): Peer {
  if (!sent) return peer;
  return { ...peer, receive: (request) => peer.receive({ ...request, body: sent(request.body) }) };
}

function mutateAnswers(peer: Peer, time: WorldTime, { answer, asks }: Mutation): Peer {
  return {
    ...peer,
    receive(request) {
      if (asks && !asks(time.utcMs)) return { kind: "breaks", afterMs: 1, code: "ECONNREFUSED" };
      const reaction = peer.receive(request);
      return answer && reaction.kind === "answers" ? answer(reaction, request.path) : reaction;
    },
  };
}

/** In memory where possible: a store that is synced thousands of times wears no disk. */
function worldFolder(): Disposable & { readonly path: string } {
  const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const path = mkdtempSync(join(parent, "sandwatch-sim-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
