import { acknowledgeIncident } from "../../../src/api/operations/incidents.ts";
import { replayNotifications } from "../../../src/api/operations/notifications.ts";
import * as silenceOperations from "../../../src/api/operations/silences.ts";
import { RefusedError } from "../../../src/lib/refusal.ts";
import type { CallApi } from "../../../src/api/operation.ts";
import type { Acknowledged, AddedSilence, Asked, Attempt, History } from "../history.ts";
import { namesNoIds } from "../receiver-types.ts";
import type { Scenario } from "../scenario.ts";
import type { Dice } from "./dice.ts";
import type { Host } from "./host.ts";
import type { Trace } from "./trace.ts";
import type { WorldTime } from "./world-time.ts";

const replayEveryMs = 10 * 60_000;
const settlingMs = 15 * 60_000;

export interface PeopleDeps {
  readonly scenario: Scenario;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly host: Host;
  readonly attempts: readonly Attempt[];
}

/**
 * Has people silence and acknowledge alerts, at any moment, until the world becomes calm. All that
 * the oracle learns of it is what they asked for and whether the process said yes.
 */
export function beginPeople(deps: PeopleDeps): Pick<History, "silences" | "acknowledgements"> {
  const { scenario, time, trace, host, attempts } = deps;
  const { intervalMs, calmMs } = scenario;
  const silences: AddedSilence[] = [];
  const ids = new Map<AddedSilence, string>();
  const acknowledgements: Acknowledged[] = [];

  const asking = (): Asked => ({
    moment: time.moment,
    atMs: time.nowMs,
    utcMs: time.utcMs,
    sure: false,
  });

  /** Gives what was asked for if it was granted, and "refused" if certainly nothing was done. */
  const ask = async <Granted>(
    what: string,
    request: (api: CallApi) => Promise<Granted>,
  ): Promise<Granted | "refused" | "unknown"> => {
    const { api } = host;
    if (!api) return "refused";
    trace.tell(`somebody ${what}`);
    try {
      return await request(api);
    } catch (error) {
      return error instanceof RefusedError ? "refused" : "unknown";
    }
  };

  const addSilence = async (dice: Dice): Promise<void> => {
    const target = dice.pick([null, ...scenario.targets]);
    const boxes = [...(target?.sandboxes ?? [])];
    const [sandbox = null, servers = []] = boxes[dice.between(0, boxes.length)] ?? [];
    const names = scenario.rules.filter(({ on }) => on === "server").map(({ name }) => name);
    const match = {
      rules: dice.chance(0.5) ? names : names.slice(0, 1),
      target: target?.name ?? null,
      sandbox,
      server: servers[dice.between(0, servers.length)] ?? null,
    };
    const asked = asking();
    const lastsMs = Math.round((0.5 + dice.random() ** 2 * 25) * intervalMs);
    const silence: AddedSilence = {
      id: null,
      match,
      asked,
      endsUtcMs: asked.utcMs + lastsMs,
      expired: null,
    };
    silences.push(silence);
    const granted = await ask(`silences ${JSON.stringify(match)} for ${lastsMs} ms`, (api) =>
      api(silenceOperations.addSilence, {
        author: "somebody",
        reason: "simulated",
        ends_at: new Date(silence.endsUtcMs).toISOString(),
        match: {
          rule: [...match.rules],
          ...(target && { region: target.region, key: target.key }),
          ...(match.sandbox !== null && { sandbox_id: match.sandbox }),
          ...(match.server !== null && { server_id: match.server }),
        },
      }),
    );
    if (granted === "refused") silences.splice(silences.indexOf(silence), 1);
    else if (granted !== "unknown") {
      asked.sure = true;
      silence.id = granted.id;
      ids.set(silence, granted.id);
    }
  };

  const expire = async (dice: Dice): Promise<void> => {
    const open = silences.filter((each) => ids.has(each) && each.expired === null);
    const silence = open[dice.between(0, open.length - 1)];
    if (!silence) return;
    const asked = asking();
    silence.expired = asked;
    const id = ids.get(silence) ?? "";
    const granted = await ask(`expires ${id}`, (api) =>
      api(silenceOperations.expireSilence, { id }),
    );
    if (granted === "refused") silence.expired = null;
    else if (granted !== "unknown") asked.sure = true;
  };

  const acknowledge = async (dice: Dice): Promise<void> => {
    const incident = attempts[attempts.length - 1 - dice.between(0, 4)]?.message.data.incidents[0];
    if (!incident || !["server", "pool", "probe"].includes(incident.subject)) return;
    const incidentId = incident.id;
    const acknowledged = { ...asking(), incidentId };
    acknowledgements.push(acknowledged);
    const granted = await ask(`acknowledges ${incidentId}`, (api) =>
      api(acknowledgeIncident, { id: incidentId, author: "somebody" }),
    );
    if (granted === "refused") {
      acknowledgements.splice(acknowledgements.indexOf(acknowledged), 1);
    } else if (granted !== "unknown") acknowledged.sure = true;
  };

  const often = (timesInHundred: number, dice: Dice, act: (dice: Dice) => Promise<void>): void => {
    if (timesInHundred === 0) return;
    const waitMs = -Math.log(1 - dice.random()) * (100 / timesInHundred) * intervalMs;
    if (time.nowMs + waitMs >= calmMs) return;
    time.setTimer(waitMs, () => {
      void act(dice);
      often(timesInHundred, dice, act);
    });
  };

  // Until the last moment in which what is sent again can still be taken before the end.
  const replay = async (): Promise<void> => {
    const alertmanagers = scenario.alertmanager === null ? [] : [scenario.alertmanager];
    for (const { name: receiver } of [...scenario.receivers, ...alertmanagers]) {
      await ask(`has ${receiver} sent again what was given up`, (api) =>
        api(replayNotifications, { receiver }),
      );
    }
    if (time.nowMs + replayEveryMs + settlingMs < scenario.endMs) {
      time.setTimer(replayEveryMs, () => void replay());
    }
  };
  time.setTimer(calmMs + replayEveryMs, () => void replay());

  const silencing = deps.dice.fork("silences");
  const drawn = silencing.pick([0, 0, 2, 5, 12]);
  const rate = namesNoIds(scenario) ? 0 : drawn;
  often(rate, silencing, addSilence);
  often(rate / 3, deps.dice.fork("expiries"), expire);
  const acknowledging = deps.dice.fork("acknowledgements");
  often(acknowledging.pick([0, 3, 10, 30]), acknowledging, acknowledge);
  return { silences, acknowledgements };
}
