import { expect, it } from "vitest";
import type { ServerRule } from "../../src/alerts/rule.ts";
import type { WatchedView } from "../../src/alerts/target-view.ts";
import { incidentViewer } from "../../src/api/operations/incidents.ts";
import { viewTarget } from "../../src/api/operations/targets.ts";
import { lookOf } from "../../src/cli/look.ts";
import { statusText } from "../../src/cli/status.ts";
import type { Status } from "../../src/fleet/model.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { findFiring, type FiringGroup } from "../../src/web/pages/firing.ts";
import { sumFleet } from "../../src/web/pages/fleet-totals.ts";
import { renderOverview } from "../../src/web/pages/overview.ts";
import { judgeBy, listing, serverError, startMs, watchFleet } from "../support/fleet.ts";
import { emptyStatus } from "./support/serve-web.ts";

const ids = Array.from({ length: 12 }, (_, index) => `s${index}`);
const dayMs = 86_400_000;

const incidentsIn = (groups: readonly FiringGroup[]): number =>
  groups.reduce((sum, { incidents }) => sum + incidents.length, 0);

const look = lookOf({ out() {}, err() {}, isInteractive: false, columns: undefined });

/** What `sandwatch status` prints of the same. */
function readStatus(views: readonly WatchedView[], nowMs: number) {
  const clock = { ...systemClock, now: () => ({ utcMs: nowMs, monotonicMs: nowMs }) };
  const view = incidentViewer({ targets: views, clock });
  const incidents = views.flatMap(({ target, state }) =>
    [...state.incidents.values()]
      .filter(({ phase }) => phase.name === "firing")
      .map((incident) => view({ incident, target, acknowledgement: null })),
  );
  const targets = views.map((each) => viewTarget(each));
  const text = statusText({ targets, incidents, processes: [] }, true, look);
  const numberIn = (pattern: RegExp): number => Number(pattern.exec(text)?.[1] ?? 0);
  const rowsIn = (part = "") => part.split("\n").filter((line) => line.startsWith("critical"));
  const [observed, unobserved] = text.split("not observed at present, so when last observed");
  const rows = rowsIn(observed);
  return {
    text,
    firing: numberIn(/^(\d+) incidents? (?:is|are) firing/),
    erring: numberIn(/^servers: .*?(\d+) error/m),
    wellNow: rows.filter((line) => / now (?:idle|occupied)/.test(line)).length,
    unobserved: rowsIn(unobserved).length,
    listed: rows.filter((line) => !/ now (?:idle|occupied)/.test(line)).length,
  };
}

it("headline, tiles and list say the same of the present, on the page and in status, over a day in which servers fail and flap, and a target dies with what is in error", () => {
  const random = seededRandom(57);
  const rule: ServerRule = {
    ...serverError,
    keepFiringForMs: 120_000,
    flap: { changes: 3, withinMs: 3_600_000 },
  };
  const judge = judgeBy([rule]);
  const { watched, poll } = watchFleet(undefined, { judge });
  const other = watchFleet({ region: "eu", key: "research" }, { judge, id: 2 });
  const statuses = new Map<string, Status>(ids.map((id) => [id, "idle"]));
  const seen = { erring: 0, calm: 0, flappingIdle: 0, unobserved: 0 };
  for (let passedMs = 0; passedMs < dayMs; passedMs += 60_000) {
    for (const id of ids) {
      // Few servers fail, and one that fails recovers within minutes. One of them flaps every six hours, for an hour.
      const isErring = statuses.get(id) === "error";
      const flaps = id === "s0" && passedMs % (dayMs / 4) < dayMs / 24;
      if (random() < (isErring ? 0.3 : flaps ? 0.3 : 0.001))
        statuses.set(id, isErring ? "idle" : "error");
      else if (!isErring && random() < 0.01) statuses.set(id, "occupied");
    }
    poll(listing(Object.fromEntries(ids.map((id) => [id, statuses.get(id) ?? "idle"]))), 60);
    // For two hours in each half of a day a server of the other target is in error, and for one of them unobserved.
    const sinceMs = passedMs % (dayMs / 2);
    const isDead = sinceMs >= dayMs / 24 && sinceMs < dayMs / 12;
    const erring = sinceMs < dayMs / 12 ? "error" : "idle";
    other.poll(isDead ? "failed" : listing({ lost: erring }), 60);
    // Every second poll is looked at.
    if (passedMs % 120_000 > 0) continue;
    const targets = [watched, other.watched];
    const view = { ...emptyStatus, rules: [rule], receivers: ["oncall"], targets };
    const nowMs = startMs + passedMs + 60_000;
    const { all } = runAtOnce(sumFleet(view.targets));
    const { groups, cleared, unobserved } = runAtOnce(findFiring(view));
    // What is listed as firing is what the tile counts in error, and each is so by what is listed.
    expect(incidentsIn(groups)).toBe(all.error);
    const firing = new Set(groups.flatMap(({ incidents }) => incidents.map((i) => i.serverId)));
    for (const id of ids) expect(firing.has(id)).toBe(statuses.get(id) === "error");
    const isLost = other.watched.withheld;
    expect([all.unobserved, incidentsIn(unobserved)]).toEqual(isLost ? [1, 1] : [0, 0]);
    if (!isLost) statuses.set("lost", erring);
    else statuses.delete("lost");
    for (const { headline, incidents } of cleared) {
      const [, now] = /, now (\w+) in /.exec(headline) ?? [];
      for (const { serverId } of incidents) expect(now).toBe(statuses.get(serverId ?? ""));
    }
    const at = { root: "", zone: "UTC", nowMs };
    const page = runAtOnce(renderOverview(view, [], { mayAct: true }, at));
    const [, headline = ""] = /<h1>([^]*?)<\/h1>/.exec(page) ?? [];
    expect(headline.includes('class="bad"')).toBe(all.error > 0 || !other.watched.up);
    const calm = all.error === 0 && cleared.length === 0 && other.watched.up;
    expect(headline.includes("All is well.")).toBe(calm);
    const status = readStatus(targets, nowMs);
    const counts = { erring: all.error, firing: all.error, listed: all.error };
    const apart = { wellNow: incidentsIn(cleared), unobserved: incidentsIn(unobserved) };
    expect(status).toMatchObject({ ...counts, ...apart });
    const isWell = all.error + cleared.length === 0 && other.watched.up;
    expect(status.text.startsWith("All is well:")).toBe(isWell);
    seen.unobserved += Number(isLost);
    seen.erring += Number(all.error > 0);
    seen.calm += Number(all.error === 0 && cleared.length === 0);
    seen.flappingIdle += Number(/flapping, now (idle|occupied)/.test(headline));
  }
  // Otherwise the day would not show it.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
});

it("what fires of a target that is not observed is listed and counted apart, as the tile counts it", () => {
  const random = seededRandom(58);
  const { watched, poll } = watchFleet(undefined, { judge: judgeBy([serverError]) });
  const listed = new Set<number>();
  for (let round = 0; round < 50; round += 1) {
    const erring = ids.filter(() => random() < 0.3);
    const shown = ids.map((id) => [id, erring.includes(id) ? "error" : "idle"] as const);
    poll(listing(Object.fromEntries(shown)), 60);
    while (!watched.withheld) poll("failed", 60);
    const view = { ...emptyStatus, rules: [serverError], targets: [watched] };
    const { groups, cleared, unobserved } = runAtOnce(findFiring(view));
    const { all } = runAtOnce(sumFleet(view.targets));
    expect([all.error, incidentsIn(groups), incidentsIn(cleared)]).toEqual([0, 0, 0]);
    expect(incidentsIn(unobserved)).toBe(erring.length);
    const at = { root: "", zone: "UTC", nowMs: startMs + round * 600_000 };
    const page = runAtOnce(renderOverview(view, [], { mayAct: true }, at)).replaceAll(/\s+/g, " ");
    expect(page.includes("not observed at present.")).toBe(erring.length > 0);
    listed.add(incidentsIn(unobserved));
  }
  expect(listed.size).toBeGreaterThan(4);
});
