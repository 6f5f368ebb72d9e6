import { expect, it } from "vitest";
import { noOutcome } from "../../src/alerts/incident-engine.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { captureLog } from "../support/capture-log.ts";
import { judgeBy, listing, research, watchFleet } from "../support/fleet.ts";

const failing = watchFleet(research, { judge: judgeBy() }).poll(listing({ a: "error" }));

function start(commit: () => Promise<void> = async () => {}) {
  const happened: string[] = [];
  const { log, lines } = captureLog();
  const commits = createCommitLoop(log);
  commits.onOutbox((atMs) => happened.push(`notify of ${atMs}`));
  const submit = (incidents = failing.incidents): Promise<void> =>
    commits.submit(() => {
      happened.push("decide");
      return {
        target: research,
        incidents,
        atMs: 7,
        commit: async () => (await commit(), void happened.push("commit")),
        accept: () => happened.push("accept"),
        follow: async () => void happened.push("follow"),
        log: async () => void happened.push("log"),
      };
    });
  return { happened, lines, commits, submit };
}

it("an input is decided, committed and taken on; what follows is decided, and receivers are notified of both", async () => {
  const { happened, lines, submit } = start();
  await submit();
  expect(happened).toEqual(["decide", "commit", "accept", "follow", "notify of 7", "log"]);
  expect(lines).toMatchObject([{ event: "incident.fired", ...research }]);
});

it("nothing shows a decision that was not stored, when it was decided again either", async () => {
  const { happened, lines, submit } = start(() => Promise.reject(new Error("disk full")));
  await expect(submit()).rejects.toThrow("disk full");
  expect([happened, lines]).toEqual([["decide", "decide"], []]);
});

it("receivers are not notified of a decision without notifications", async () => {
  const { happened, submit } = start();
  await submit(noOutcome);
  expect(happened).not.toContain("notify of 7");
});

it("an input that changes nothing is not committed", async () => {
  const { happened, commits } = start();
  await commits.submit(() => null);
  expect(happened).toEqual([]);
});

it("what was committed elsewhere is published in the same way", async () => {
  const { happened, lines, commits } = start();
  await commits.publish(failing.incidents, 8);
  expect(happened).toEqual(["notify of 8"]);
  expect(lines).toMatchObject([{ event: "incident.fired" }]);
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
