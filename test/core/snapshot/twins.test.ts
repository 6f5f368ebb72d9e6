import { expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { listedSandbox, listedServer } from "../support/samples.ts";

const options = { complete: true, atMs: 1_000, observedMs: 1_000, witnessed: true };

it("what came twice is joined in short steps, however much of it did", () => {
  const all = Array.from({ length: 2_000 }, (_, box) =>
    listedSandbox(`box-${box}`, [listedServer("a", "idle")]),
  );
  const intake = openIntake(emptySnapshot, { goneAfter: 2 });
  for (const sandbox of [...all, ...all]) intake.listed(sandbox, null);
  const steps = intake.finish(options);
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  expect(count).toBeGreaterThanOrEqual(2_000 / 200);
  expect(step.value.snapshot.sandboxCount).toBe(2_000);
});

it("a sandbox that comes very often is one, and known as the worst that it was said to be", () => {
  const intake = openIntake(emptySnapshot, { goneAfter: 2 });
  const said = (status: "idle" | "error") => listedSandbox("box", [listedServer("a", status)]);
  for (let time = 0; time < 10_000; time++) {
    intake.listed(said(time === 5_000 ? "error" : "idle"), null);
  }
  const { snapshot } = atOnce(intake.finish(options));
  expect(snapshot.sandboxCount).toBe(1);
  expect(snapshot.server("box", "a")?.status).toBe("error");
});
