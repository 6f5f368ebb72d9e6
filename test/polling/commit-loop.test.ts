import { expect, it } from "vitest";
import { noOutcome } from "../../src/alerts/incident-engine.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { captureLog } from "../support/capture-log.ts";
import { judgeBy, listing, research, watchFleet } from "../support/fleet.ts";

const failing = watchFleet(research, { judge: judgeBy() }).poll(listing({ a: "error" }));

function start() {
  const happened: string[] = [];
  const { log, lines } = captureLog();
  const commits = createCommitLoop(log);
  commits.onOutbox((atMs) => happened.push(`notify of ${atMs}`));
  return { happened, lines, commits };
}

it("receivers are notified of what was committed, and its lines are logged before those of incidents", async () => {
  const { happened, lines, commits } = start();
  const { incidents } = failing;
  const line = { level: "info", fields: { event: "target.returned" }, msg: "it is up" } as const;
  await commits.publish({ target: research, incidents, atMs: 7, lines: [line] });
  expect(happened).toEqual(["notify of 7"]);
  expect(lines).toMatchObject([
    { event: "target.returned" },
    { event: "incident.fired", ...research },
  ]);
});

it("receivers are not notified of a decision without notifications", async () => {
  const { happened, lines, commits } = start();
  await commits.publish({ target: null, incidents: noOutcome, atMs: 7 });
  expect([happened, lines]).toEqual([[], []]);
});

it("a decision whose commit fails is decided again", async () => {
  const { commits } = start();
  let decided = 0;
  const commit = () =>
    commits.commit(async () => {
      decided += 1;
      if (decided === 1) throw new Error("another one could not be stored");
      return decided;
    });
  expect(await commit()).toBe(2);
});

it("a decision whose commits fail twice is not stored", async () => {
  const { commits } = start();
  const commit = commits.commit(() => Promise.reject(new Error("disk full")));
  await expect(commit).rejects.toThrow("disk full");
});

it.each([
  [["ann silenced it"], ["commit", "accept", "notify of 9"]],
  [[], ["commit"]],
])(
  "what people do is committed, and only where it changed something taken on and published: %j",
  async (said, expected) => {
    const { happened, lines, commits } = start();
    const done = await commits.act({
      atMs: 9,
      commit: async () => (happened.push("commit"), said),
      accept: async () => void happened.push("accept"),
      lines: (texts) =>
        texts.map((msg) => ({ level: "info", fields: { event: "silence.added" }, msg })),
    });
    expect([done, happened]).toEqual([said, expected]);
    expect(lines.map(({ msg }) => msg)).toEqual(said);
  },
);
