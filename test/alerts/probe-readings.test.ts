import { describe, expect, it } from "vitest";
import { answered, backingOff, failing, ranProbe, unsent } from "../support/probes.ts";
import { startMs } from "../support/fleet.ts";

const counted = { ...answered, universes: 5 } as const;
const used = { ...answered, lastUsedAtMs: startMs } as const;

describe("what is shown of a probe", () => {
  it("is nothing before its first run in this process", () => {
    expect(ranProbe().watched.readings).toMatchObject({ success: null, durationMs: null });
  });

  it("is what its last run said", () => {
    const { run, watched } = ranProbe();
    run(counted);
    expect(watched.readings).toMatchObject({ success: true, durationMs: 40, universes: 5 });
    run(failing());
    expect(watched.readings).toMatchObject({ success: false, durationMs: 40 });
  });

  it("is of an answer what was last read, until too many runs brought none", () => {
    const { run, watched } = ranProbe();
    run(used);
    run(failing());
    run(failing());
    expect(watched.readings.lastUsedAtMs).toBe(startMs);
    run(failing());
    expect(watched.readings).toMatchObject({ lastUsedAtMs: null, success: false });
    run(used);
    expect(watched.readings.lastUsedAtMs).toBe(startMs);
  });

  it("is not a user's last use any more when the answer does not tell it", () => {
    const { run, watched } = ranProbe();
    run(used);
    run(answered);
    expect(watched.readings.lastUsedAtMs).toBeNull();
  });

  it("stays as it was while nothing can be sent, and is then withheld", () => {
    const { run, watched } = ranProbe();
    run(counted);
    run(unsent);
    run(unsent);
    expect(watched.readings).toMatchObject({ success: true, durationMs: 40, universes: 5 });
    run(unsent);
    expect(watched.readings).toMatchObject({ success: null, durationMs: null, universes: null });
  });

  it("goes on to be a failure while the key is refused, though it is seldom asked", () => {
    const { run, watched } = ranProbe();
    run(failing("auth", 403));
    for (let time = 0; time < 5; time += 1) run(backingOff);
    expect(watched.readings).toMatchObject({ success: false, durationMs: 40 });
  });

  it("is withheld when the store takes no run any more", () => {
    const { run, watched } = ranProbe();
    run(counted);
    for (let time = 0; time < 3; time += 1) watched.loseRun();
    expect(watched.readings).toMatchObject({ success: null, universes: null });
  });
});
