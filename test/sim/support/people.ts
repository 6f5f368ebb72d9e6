import { acknowledgeIncident } from "../../../src/api/operations/acknowledgements.ts";
import { replayNotifications } from "../../../src/api/operations/notifications.ts";
import { expireSilence } from "../../../src/api/operations/change-silence.ts";
import { addSilence as addSilenceOperation } from "../../../src/api/operations/silences.ts";
import type { CallApi } from "../../../src/api/operation.ts";
import { RefusedError } from "../../../src/lib/refused-error.ts";
import type { Acknowledgement, AddedSilence, ApiCall, Attempt } from "../history.ts";
import type { Dice } from "../draw/dice.ts";
import type { ScenarioRule } from "../draw/rules.ts";
import type { ScenarioTarget } from "../scenario.ts";
import type { Host } from "./host.ts";
import { often, type World } from "./world.ts";

const replayEveryMs = 10 * 60_000;
const settlingMs = 15 * 60_000;

/**
 * People silence and acknowledge alerts at any moment until the world becomes calm, and replay dead letters
 * after that. The oracle learns what they asked for and whether the process accepted it.
 */
export function beginPeople(world: World, host: Host, attempts: readonly Attempt[]) {
  const { scenario, time } = world;
  const { intervalMs, calmMs } = scenario;
  const dice = world.dice.fork("people");
  const silences: AddedSilence[] = [];
  const acknowledgements: Acknowledgement[] = [];
  const { pagerduty, receivers } = scenario;
  const isRouted = receivers.some(({ route }) => route);
  const lasting = dice.fork("lasting");

  /** Gives null if certainly nothing was done; notes in the call whether it was accepted. */
  const ask = async <Accepted>(
    what: string,
    call: ApiCall | null,
    request: (api: CallApi) => Promise<Accepted>,
  ): Promise<Accepted | "unknown" | null> => {
    const { api } = host;
    if (!api) return null;
    world.log(`somebody ${what}`);
    try {
      const accepted = await request(api);
      if (call) call.sure = true;
      return accepted;
    } catch (error) {
      // The store may have failed after it was written.
      const isRefused = error instanceof RefusedError && error.kind !== "unavailable";
      return isRefused ? null : "unknown";
    }
  };

  const namesOn = (...subjects: readonly ScenarioRule["on"][]): readonly string[] =>
    scenario.rules.filter(({ on }) => subjects.includes(on)).map(({ name }) => name);

  const silenceServers = (own: Dice): Promise<void> => {
    const target = own.pick([null, ...scenario.targets]);
    const boxes = [...(target?.sandboxes ?? [])];
    const [sandbox = null, servers = []] = boxes[own.between(0, boxes.length)] ?? [];
    const names = namesOn("server", "sandbox");
    const rules = own.chance(0.5) ? names : names.slice(0, 1);
    const server = servers[own.between(0, servers.length)] ?? null;
    return addSilence(own, 25, target, { rules, sandbox, server });
  };

  /** Incidents that may inhibit others. One of a region has no key, and so is not matched with a target. */
  const silenceTargets = (own: Dice): Promise<void> => {
    const names = namesOn("target", "region");
    const [one = ""] = own.chance(0.5) ? namesOn("region") : names;
    const rules = one === "" || own.chance(0.3) ? names : [one];
    const target = own.chance(0.6) ? null : own.pick([null, ...scenario.targets]);
    return addSilence(own, 60, target, { rules, sandbox: null, server: null });
  };

  const addSilence = async (
    own: Dice,
    longestIntervals: number,
    target: ScenarioTarget | null,
    what: Omit<AddedSilence["match"], "target">,
  ): Promise<void> => {
    const match = { ...what, target: target?.name ?? null };
    const lastsMs = Math.round((0.5 + own.random() ** 2 * longestIntervals) * intervalMs);
    const added = { ...time.now(), sure: false };
    const endsUtcMs = added.utcMs + lastsMs;
    const silence: AddedSilence = { id: null, match, added, endsUtcMs, expired: null };
    silences.push(silence);
    const text = `silences ${JSON.stringify(match)} for ${lastsMs} ms`;
    const accepted = await ask(text, added, (api) =>
      api(addSilenceOperation, {
        author: "somebody",
        reason: "simulated",
        ends_at: new Date(endsUtcMs).toISOString(),
        // Also what is not listed at present.
        force: true,
        match: {
          rule: [...match.rules],
          ...(target && { region: target.region, key: target.key }),
          ...(match.sandbox !== null && { sandbox_id: match.sandbox }),
          ...(match.server !== null && { server_id: match.server }),
        },
      }),
    );
    if (accepted === null) silences.splice(silences.indexOf(silence), 1);
    else if (accepted !== "unknown") silence.id = accepted.id;
  };

  const expire = async (): Promise<void> => {
    const open = silences.filter(({ id, expired }) => id !== null && expired === null);
    const silence = open[expiring.between(0, open.length - 1)];
    if (!silence) return;
    const { id } = silence;
    if (id === null) return;
    const call = { ...time.now(), sure: false };
    // An equal one prolonged it.
    const same = silences.filter((each) => each.id === id);
    for (const each of same) each.expired = call;
    const accepted = await ask(`expires ${id}`, call, (api) => api(expireSilence, { id }));
    if (accepted === null) for (const each of same) each.expired = null;
  };

  const acknowledge = async (): Promise<void> => {
    const attempt = attempts[attempts.length - 1 - acknowledging.between(0, 4)];
    const incident = attempt?.message.data.incidents[0];
    if (!incident || !["server", "sandbox", "pool", "probe"].includes(incident.subject)) return;
    const { id } = incident;
    const lastsMs = isRouted && lasting.chance(0.6) ? lasting.between(1, 10) * intervalMs : null;
    const now = time.now();
    const endsUtcMs = lastsMs === null ? null : now.utcMs + lastsMs;
    const acknowledgement = { ...now, sure: false, incidentId: id, endsUtcMs };
    acknowledgements.push(acknowledgement);
    const text = `acknowledges ${id}${lastsMs === null ? "" : ` for ${lastsMs} ms`}`;
    const accepted = await ask(text, acknowledgement, (api) =>
      api(acknowledgeIncident, {
        id,
        author: "somebody",
        ...(lastsMs !== null && { duration: `${lastsMs / 1_000}s` }),
      }),
    );
    if (accepted !== null) return;
    acknowledgements.splice(acknowledgements.indexOf(acknowledgement), 1);
  };

  // Until the last moment in which what is replayed can still be accepted before the end.
  const replay = async (): Promise<void> => {
    for (const { name: receiver } of pagerduty ? [...receivers, pagerduty] : receivers) {
      await ask(`replays the dead letters of ${receiver}`, null, (api) =>
        api(replayNotifications, { receiver }),
      );
    }
    if (time.nowMs + replayEveryMs + settlingMs < scenario.endMs) {
      time.setTimer(replayEveryMs, () => void replay());
    }
  };
  time.setTimer(calmMs + replayEveryMs, () => void replay());

  const silencing = dice.fork("silences");
  const rate = silencing.pick([0, 0, 2, 5, 12]);
  often(world, silencing, rate, () => void silenceServers(silencing));
  const troubles = dice.fork("silences of targets");
  often(world, troubles, troubles.pick([0, 0, 6, 12]), () => void silenceTargets(troubles));
  const expiring = dice.fork("expiries");
  often(world, expiring, rate / 3, () => void expire());
  const acknowledging = dice.fork("acknowledgements");
  often(world, acknowledging, acknowledging.pick([0, 3, 10, 30]), () => void acknowledge());
  return { silences, acknowledgements };
}
