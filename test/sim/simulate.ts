import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/store/store.ts";
import { testConfig } from "../support/test-config.ts";
import type {
  Attempt,
  KeptRun,
  Ping,
  Post,
  Recorded,
  Scrape,
  StoreLogLine,
  WallClock,
} from "./history.ts";
import { drawScenario, longestWaitMs, receiverOrigin } from "./scenario.ts";
import { settingsOf } from "./settings.ts";
import { stageAt } from "./stages.ts";
import type { Scenario } from "./scenario.ts";
import { beginChaos } from "./support/chaos.ts";
import { createDamages } from "./support/damage.ts";
import { createDice } from "./support/dice.ts";
import { createFuse } from "./support/fuse.ts";
import { createHost } from "./support/host.ts";
import type { Configured, StoreMutation } from "./support/host-deps.ts";
import type { Mutation } from "./support/mutations.ts";
import { beginOnlookers } from "./support/onlookers.ts";
import { beginPeople } from "./support/people.ts";
import { createKeptPolls } from "./support/kept-polls.ts";
import { createKeptRuns } from "./support/kept-runs.ts";
import { readEnd } from "./support/read-end.ts";
import { nameIncidents } from "./support/slack-messages.ts";
import {
  createScriptedReceiver,
  recordMessages,
  signingSecret,
} from "./support/scripted-receiver.ts";
import type { ScriptedReceiver, ScriptedReceiverDeps } from "./support/scripted-receiver.ts";
import { recordPosts } from "./support/alertmanager-posts.ts";
import { createScriptedService } from "./support/scripted-service.ts";
import { beginStoreChaos } from "./support/store-chaos.ts";
import { createDisplacedFiles } from "./support/displaced-files.ts";
import { createStoreTroubles } from "./support/store-troubles.ts";
import { createTrace } from "./support/trace.ts";
import type { StoryLine } from "./support/trace.ts";
import type { Peer } from "./support/virtual-network.ts";
import { comeToRest, createWorldTime } from "./support/world-time.ts";
import type { WorldTime } from "./support/world-time.ts";

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
}

/** Runs the daemon through one world, which its seed determines to the last detail. */
export async function simulate(seed: number, mutation: Mutation = {}): Promise<Run> {
  await (warm ??= warmUp());
  const scenario = drawScenario(seed);
  const { startUtcMs } = scenario;
  const dice = createDice(seed, "world");
  const time = createWorldTime(startUtcMs);
  using folder = worldFolder();
  const trace = createTrace(() => time.nowMs, folder.path);
  const fuse = createFuse(dice.fork("fuse"));
  const attempts: Attempt[] = [];
  const refused: string[] = [];
  const commits = new Set<number>();
  const wallClocks: WallClock[] = [{ fromMs: 0, offsetMs: startUtcMs }];

  const service = createScriptedService({
    scenario,
    time,
    trace,
    dice: dice.fork("service"),
    onNews: () => fuse.trigger("news"),
  });
  const posts: Post[] = [];
  const openReceiver = (name: string, record: ScriptedReceiverDeps["record"]): ScriptedReceiver =>
    createScriptedReceiver({
      name,
      time,
      trace,
      refused,
      record,
      dice: dice.fork(name),
      onTaken: () => fuse.trigger("taken"),
    });
  const { alertmanager } = scenario;
  const receivers = [
    ...scenario.receivers.map((each) =>
      openReceiver(each.name, recordMessages(each, time, attempts)),
    ),
    ...(alertmanager === null ? [] : [openReceiver(alertmanager.name, recordPosts(time, posts))]),
  ];
  const servicePeers = service.peers.map((peer) => misreading(peer, time, mutation));
  const pings: Ping[] = [];
  const pulse: Peer = {
    origin: receiverOrigin("pulse"),
    receive({ sender: life, exchange }) {
      pings.push({ life, sentMs: exchange.sentMs, atMs: time.nowMs });
      return { kind: "answers", afterMs: 5, status: 200, chunks: ["ok"], chunkMs: 0 };
    },
  };
  const peers = new Map(
    [...servicePeers, ...receivers.map((peer) => rewriting(peer, mutation)), pulse].map((peer) => [
      peer.origin,
      peer,
    ]),
  );
  const store = createStoreTroubles(time, dice.fork("disk"), () => host.lives.length);
  const restarts = dice.fork("restarts");
  const { configured: mutate = (settings) => settings } = mutation;
  const configured = (): Configured => {
    const isLater = scenario.later !== null && time.nowMs >= scenario.later.fromMs;
    const rules = isLater ? scenario.later.rules : scenario.rules;
    const stage = stageAt(scenario.stages, time.nowMs);
    const settings = mutate({ ...scenario, rules, stage });
    return { rules, stage, config: testConfig(settingsOf(scenario, settings, signingSecret)) };
  };
  const now = (): Pick<KeptRun, "moment" | "atMs" | "utcMs"> => {
    const { moment, nowMs: atMs, utcMs } = time;
    return { moment, atMs, utcMs };
  };
  const keptPolls = createKeptPolls(now);
  const keptRuns = createKeptRuns(now);
  const storeLog: StoreLogLine[] = [];
  const damages = createDamages({ scenario, time, trace, dice: dice.fork("damage") });
  using host = createHost({
    folder: folder.path,
    time,
    trace,
    peers,
    mutate: mutation.store ?? unchanged,
    between: mutation.between ?? null,
    stopsLateMs: mutation.stopsLateMs ?? 0,
    dice: dice.fork("daemon"),
    reloading: mutation.reloading ?? null,
    configure: configured,
    reloads: () => stageAt(scenario.stages, time.nowMs),
    onPassing: () => {
      if (!fuse.passing()) return false;
      fuse.put();
      return true;
    },
    onStatement: (database, sql) => store.befall(database, sql),
    onCommit(database, life) {
      commits.add(time.moment);
      keptPolls.committed(database, life);
      if (scenario.probes.length > 0) keptRuns.committed(database, life);
    },
    onStart() {
      fuse.trigger("start");
      if (mutation.pingsAtStart !== true) return;
      pings.push({ life: host.lives.length, sentMs: time.nowMs, atMs: time.nowMs });
    },
    beforeStart: (path, life) => damages.beforeStart(path, life),
    onEnding: () => storeChaos.ending(),
    onStoreLog: (line) => storeLog.push(line),
    restartMs: () =>
      restarts.chance(0.7)
        ? restarts.between(500, 20_000)
        : restarts.between(0, 5 * scenario.intervalMs),
  });

  service.begin();
  host.start();
  for (const { fromMs } of scenario.stages.slice(1)) {
    time.setTimer(fromMs, () => void host.reload());
  }
  beginChaos({
    scenario,
    time,
    trace,
    service,
    receivers,
    host,
    fuse,
    store,
    dice: dice.fork("chaos"),
    onWallClock: () => wallClocks.push({ fromMs: time.nowMs, offsetMs: time.utcMs - time.nowMs }),
  });
  const storeChaos = beginStoreChaos({
    scenario,
    time,
    trace,
    host,
    store,
    files: createDisplacedFiles(mutation.overlooksItsFiles ?? false),
    dice: dice.fork("store chaos"),
  });
  const onlooks = beginOnlookers({
    scenario,
    time,
    trace,
    host,
    config: () => configured().config,
    isDisplaced: () => storeChaos.isDisplaced,
    faults: mutation.onlookers ?? {},
    dice: dice.fork("onlookers"),
  });
  const people = beginPeople({ scenario, time, trace, host, attempts, dice: dice.fork("people") });
  const scrapes: Scrape[] = [];
  const { scraped = (scrape) => scrape } = mutation;
  const scraping = dice.fork("scrapes");
  const scrapeLater = (): void => {
    time.setTimer((1 + scraping.random() * 7) * scenario.intervalMs, () => {
      host.scrape((scrape) => scrapes.push(scraped(scrape)));
      scrapeLater();
    });
  };
  scrapeLater();
  await passUntil(time, scenario.endMs, storeChaos.passed);
  host.retire();
  host.stop();
  await passUntil(time, scenario.endMs + 60_000, storeChaos.passed);

  // A group that began to wait just before the end waits still.
  const waitingUtcMs = time.utcMs - longestWaitMs - 2 * 60_000;
  const { left, kept } = await readEnd(host.storePath, scenario, {
    waitingUtcMs,
    damages: damages.all,
  });
  return {
    scenario,
    story: trace.story,
    hash: trace.hash(),
    history: {
      attempts: nameIncidents(attempts, (name) =>
        scenario.receivers.some((each) => each.name === name && each.type === "slack"),
      ),
      posts,
      refused,
      wallClocks,
      commits,
      ...people,
      dueMs: time.dueMs,
      left: [...left, ...keptPolls.faults],
      keptPolls: keptPolls.polls,
      keptRuns: keptRuns.runs,
      scrapes,
      pings,
      kept,
      endMs: scenario.endMs,
      lives: host.lives,
      requests: service.requests,
      storeFaults: store.faults,
      storeOutages: [...store.outages, ...storeChaos.replaced],
      storeLog,
      damages: damages.all,
      onlooks,
      stalls: store.stalls,
    },
  };
}

async function passUntil(time: WorldTime, untilMs: number, onPassed: () => void): Promise<void> {
  do {
    await comeToRest();
    onPassed();
  } while (time.jump(untilMs));
}

function rewriting(peer: Peer, { sent }: Mutation): Peer {
  if (!sent) return peer;
  return {
    origin: peer.origin,
    receive: (request) => peer.receive({ ...request, body: sent(request.body) }),
  };
}

function misreading(peer: Peer, time: WorldTime, { answer, asks }: Mutation): Peer {
  if (!answer && !asks) return peer;
  return {
    origin: peer.origin,
    receive(request) {
      if (asks && !asks(time.utcMs)) return { kind: "breaks", afterMs: 1, code: "ECONNREFUSED" };
      const reaction = peer.receive(request);
      return answer && reaction.kind === "answers" ? answer(reaction, request.path) : reaction;
    },
  };
}

const unchanged: StoreMutation = (store) => store;

/** In memory where there is such a place: a store that is synced thousands of times wears no disk. */
function worldFolder(): Disposable & { readonly path: string } {
  const parent = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
  const path = mkdtempSync(join(parent, "sandwatch-sim-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
