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

  it("keeps the same promises of a sandbox whose servers are well", async ({ signal }) => {
    const killings = await killVictims(signal, { subject: "sandbox" });
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(15);
  });

  it("notifies of the server alone where its sandbox is in error, too", async ({ signal }) => {
    const killings = await killVictims(signal, { subject: "both" });
    expect(brokenPromises(killings)).toEqual([]);
    expect(killings.killedAtStatements).toBeGreaterThan(15);
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
