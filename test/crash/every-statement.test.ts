import { describe, expect, it } from "vitest";
import { killEscalators } from "./kill-escalators.ts";
import { brokenPromises, killReporters, killVictims } from "./kill-victims.ts";

describe("a daemon that is killed at every statement of commit and delivery", () => {
  it("has one incident an episode and one id a message, loses none, and resolves after it fires", async ({
    signal,
  }) => {
    const killings = await killVictims(signal);
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(15);
  });

  // By the same statements as for a server, mostly.
  it("keeps the same promises of a sandbox whose servers are well, at every third statement", async ({
    signal,
  }) => {
    const killings = await killVictims(signal, { subject: "sandbox", every: 3 });
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(5);
  });

  it("notifies of the server alone where its sandbox is in error, too, at every third statement", async ({
    signal,
  }) => {
    const options = { subject: "both", firstStatement: 2, every: 3 } as const;
    const killings = await killVictims(signal, options);
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(5);
    const subjects = killings.alerts.flatMap(({ data }) =>
      data.incidents.map((each) => each.subject),
    );
    expect(new Set(subjects)).toEqual(new Set(["server"]));
  });

  it("keeps the same promises of a probe", async ({ signal }) => {
    const killings = await killVictims(signal, { subject: "probe" });
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(15);
  });

  it("takes each step of an escalation once, none while an acknowledgement lasts, and notifies once when hours begin", async ({
    signal,
  }) => {
    const { days, faults } = await killEscalators(signal);
    expect(faults).toEqual([]);
    expect(days).toBeGreaterThan(30);
  });

  it("sends a report once for each time that it was due, under one id", async ({ signal }) => {
    const { times, ids, refused } = await killReporters(signal);
    expect(refused).toEqual([]);
    expect(times).toBeGreaterThan(15);
    expect(ids.map(({ size }) => size)).toEqual(Array.from({ length: times }, () => 1));
  });
});
