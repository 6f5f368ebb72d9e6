import { describe, expect, it } from "vitest";
import type { ServerRule, TargetRule } from "../../src/alerts/rule.ts";
import { createWatch, inPolls, intervalMs, lasting, play } from "./support/watch.ts";
import { serverRule, targetRule, type WatchOptions } from "./support/watch.ts";

/** See `play`. */
type Story = [title: string, story: string, options?: WatchOptions];

const minute = 2 * intervalMs;
const by = (more: Partial<ServerRule>, options: WatchOptions = {}): WatchOptions => ({
  ...options,
  rules: [serverRule(more)],
});
const onTarget = (more: Partial<TargetRule> = {}): WatchOptions => ({ rules: [targetRule(more)] });

const servers: readonly Story[] = [
  ["in error fires at the first listing", "e[fired]e"],
  ["fires by a partial listing, which is used for what it shows", "E[fired]"],
  ["keeps its incident over a restart", "e[fired]Rei[recovered]e[fired]"],
  ["that recovers within `for` is never notified", "e[opened]i[dropped]", by({ for: inPolls(2) })],
  ["is kept firing for a while", "e[fired]ieiii[recovered]", by({ keepFiringForMs: minute })],
  ["is gone after that many complete listings", "e[fired]...[gone]", { goneAfter: 3 }],
  ["is not gone by partial listings", "e[fired]-{5}e", { goneAfter: 1 }],
  ["is not gone by failed polls, which do not break the row either", "e[fired].!{5}.[gone]"],
  ["does not age while it is missing", "e[opened].ee[fired]", by({ for: lasting(minute) })],
  [
    "neither ages nor is reminded of while partial listings lack it",
    "e[opened slow, fired remind]-{5}ee[fired slow, reminded remind]",
    {
      rules: [
        serverRule({ name: "slow", for: lasting(minute) }),
        serverRule({ name: "remind", remindEveryMs: minute }),
      ],
    },
  ],
  [
    "has an incident for each rule",
    "e[fired, opened slow]e[fired slow]",
    { rules: [serverRule(), serverRule({ name: "slow", for: inPolls(2) }), targetRule()] },
  ],
];

const whileDown: readonly Story[] = [
  ["opens by the wall clock", "e[opened]D!{5}eee[fired]", by({ for: lasting(minute) })],
  ["resolves", "e[fired]iD!{5}iii[recovered]", by({ keepFiringForMs: minute })],
  ["is reminded of", "e[fired]D!{5}eee[reminded]", by({ remindEveryMs: minute })],
];

const targets: readonly Story[] = [
  ["is down after three failed polls in a row", "i![opened]!![fired]i[recovered]", onTarget()],
  ["fires once over restarts", "![opened]!R![fired]R!{4}", onTarget()],
  [
    "is reminded of, as its own clock runs on",
    "![opened]!![fired]!![reminded]",
    onTarget({ remindEveryMs: minute }),
  ],
  ["is not polled by a poll that is not sent", "x[opened]wwxx[fired]", onTarget()],
  ["is down for as long as none is sent", "x[opened]ww[fired]", onTarget({ for: lasting(minute) })],
];

const refused: readonly Story[] = [
  ["fires by its own rule", "x[opened]xx[fired]-[recovered]"],
  ["is not one whose polls fail otherwise", "!{9}"],
  ["is hidden by other failures", "x[opened]!!x!x[fired]!{9}i[recovered]"],
];

const partial: readonly Story[] = [
  ["fires after some in a row", "I[opened]II[fired]I{5}i[recovered]"],
  ["counts again after a complete one", "I[opened]Ii[dropped]I[opened]I"],
  ["goes on over restarts", "I[opened]RIRI[fired]RI"],
  ["neither ends nor counts by failed polls", "I[opened]I!{5}I[fired]!i[recovered]"],
];

const unknown: readonly Story[] = [
  ["neither resolves nor opens again", "e[fired]u{4}ei[recovered]"],
  [
    "does not come nearer to firing",
    "e[opened long, opened often]u{5}ee[fired long, fired often]",
    {
      rules: [
        serverRule({ name: "long", for: lasting(minute) }),
        serverRule({ name: "often", for: inPolls(3) }),
        serverRule({ name: "busy", status: "occupied", for: inPolls(2) }),
      ],
    },
  ],
  ["is not reminded of", "e[fired]u{6}ee[reminded]", by({ remindEveryMs: minute })],
  ["remains acknowledged", "e[fired]Kuuee", by({ remindEveryMs: intervalMs })],
  ["does not flap by it", "e[fired]ueueu", by({ flap: { changes: 1, withinMs: 9_999_999 } })],
  [
    "does not settle by it",
    "e[fired]i[recovered]e[fired]u{10}eee[settled]",
    by({ flap: { changes: 1, withinMs: 3 * intervalMs } }),
  ],
  ["fires and resolves by a rule on unknown", "eu[fired]ue[recovered]", by({ status: "unknown" })],
];

const silenced: readonly Story[] = [
  ["is notified once when it outlives the silence", "(e[muted]e)e[fired]ei[recovered]"],
  ["is not reminded of", "(e[muted]ee)e[fired]", by({ remindEveryMs: intervalMs })],
  ["fires if it comes back", "(e[muted])ie[fired]", by({ keepFiringForMs: 3 * intervalMs })],
  ["can be of a target", "(![muted])![fired]", onTarget({ for: inPolls(1) })],
  ["resolves if it fired before", "e[fired](e[silenced, muted]e)e[fired]i[recovered]"],
  ["is left alone while its target is down", "e[fired](!)e"],
  [
    "that was clearing clears from the beginning",
    "e[fired]i(e[silenced, muted]iii[recovered]",
    by({ keepFiringForMs: minute }),
  ],
];

/** Two entries within ten minutes are notified one by one, the third one as flapping. */
const flap = { changes: 2, withinMs: 10 * minute };
const flapping = "e[fired]i[recovered]e[fired]i[recovered]e[fired]";

const flaps: readonly Story[] = [
  [
    "is notified once as flapping, and then when it recovered",
    `${flapping}ieieieiei{19}i[recovered]`,
  ],
  ["is notified when it settled", `${flapping}e{19}e[settled]eeei[recovered]`],
  [
    "within `for` is notified",
    "e[opened]i[dropped]e[opened]i[dropped]e[fired]ieiei{19}i[recovered]",
    by({ flap, for: lasting(minute) }),
  ],
  [
    "within `keep_firing_for` is one incident",
    "e[fired]ieie[flapping]ieiei{19}i[recovered]",
    by({ flap, keepFiringForMs: minute }),
  ],
  [
    "is not reminded of before it settled",
    `${flapping}e{19}e[settled]ee[reminded]`,
    by({ flap, remindEveryMs: minute }),
  ],
  [
    "is counted by each rule",
    "e[fired, fired every]i[recovered, recovered every]e[fired, fired every]i[recovered, recovered every]e[fired, fired every]i[recovered every]e[fired every]",
    { rules: [serverRule({ flap }), serverRule({ name: "every" })] },
  ],
  [
    "is counted over restarts",
    "e[fired]Ri[recovered]Re[fired]Ri[recovered]Re[fired]RiRi{20}i[recovered]",
  ],
  ["does not settle while its target is down", `${flapping}i!{50}ei{18}`],
  ["does not settle while partial listings lack it", `${flapping}-{50}e{19}e[settled]`],
  [
    "by disappearing is notified once as flapping, and then when it is gone for good",
    "e[fired].[gone]e[fired].[gone]e[fired].e.e.{19}.[gone]",
    by({ flap }, { goneAfter: 1 }),
  ],
  [
    "is notified after a silence once it is in error",
    "(e[muted]i[recovered]e[muted]i[recovered]e[muted]iei)ie[fired]",
  ],
  ["resolves at a silence", `${flapping}(ie[silenced, muted]ieie)e[fired]`],
  [
    "that is acknowledged is notified only when it is over",
    "e[fired]iKeie{31}iii[recovered]",
    by({ flap, keepFiringForMs: minute }),
  ],
];

const acknowledged: readonly Story[] = [
  ["is not reminded of, and resolves", "e[fired]e[reminded]Keei[recovered]"],
  ["remains so over a restart; the next is not", "e[fired]KReei[recovered]e[fired]e[reminded]"],
];

describe.each<[about: string, stories: readonly Story[], by?: WatchOptions]>([
  ["a server", servers],
  ["while its target is down, no incident of a server", whileDown],
  ["a target", targets],
  ["a target whose key is refused", refused, onTarget({ trouble: "auth" })],
  ["a target with partial listings", partial, onTarget({ trouble: "partial" })],
  ["while the status is unknown, an incident", unknown],
  ["an incident inside a silence", silenced],
  ["a server that flaps", flaps, by({ flap })],
  ["an acknowledged incident", acknowledged, by({ remindEveryMs: intervalMs })],
])("%s", (_about, stories, usual = {}) => {
  it.each(stories)("%s", (_title, story, options = usual) => {
    const [played, expected] = play(createWatch(options), story);
    expect(played).toBe(expected);
  });
});
