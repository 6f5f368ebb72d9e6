import { expect, it } from "vitest";
import { answered, failing, login, neverRun, ranProbe, unsent } from "../support/probes.ts";
import { meterFleet } from "./exposition.ts";

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .filter((line) => /^sandwatch_(?:probe|universes|user)/.test(line))
    .toSorted();
}

const labels = 'region="us",key="research"';

it("a probe has no series before its first run, nor when nothing was seen of it for too long", async () => {
  const { watched, run } = ranProbe();
  const { render } = meterFleet({ probes: [watched] });
  expect(linesOf(await render())).toEqual([]);
  run({ ...answered, universes: 5, lastUsedAtMs: 1_500 });
  const all = [
    `sandwatch_probe_duration_seconds{probe="login",${labels},operation="get_user"} 0.04`,
    `sandwatch_probe_success{probe="login",${labels},operation="get_user"} 1`,
    `sandwatch_universes{${labels}} 5`,
    `sandwatch_user_last_used_timestamp_seconds{probe="login",${labels}} 1.5`,
  ];
  expect(linesOf(await render())).toEqual(all);
  run(unsent);
  run(unsent);
  expect(linesOf(await render())).toEqual(all);
  run(unsent);
  expect(linesOf(await render())).toEqual([]);
  run(failing());
  expect(linesOf(await render())).toEqual([
    `sandwatch_probe_duration_seconds{probe="login",${labels},operation="get_user"} 0.04`,
    `sandwatch_probe_success{probe="login",${labels},operation="get_user"} 0`,
  ]);
});

it("of several probes that count the universes of a target the latest answer is shown", async () => {
  const probe = { ...login, operation: "list_universes" } as const;
  const [one, other] = ["one", "other"].map((name, id) => {
    const named = { ...probe, name };
    return ranProbe(undefined, { probe: named, restored: neverRun(named, id) });
  });
  const { render } = meterFleet({ probes: [one, other].flatMap((each) => each?.watched ?? []) });
  const counted = async (): Promise<string | undefined> =>
    linesOf(await render()).find((line) => line.startsWith("sandwatch_universes"));
  one?.run({ ...answered, universes: 1 }, { seconds: 10 });
  other?.run({ ...answered, universes: 2 }, { seconds: 20 });
  expect(await counted()).toBe(`sandwatch_universes{${labels}} 2`);
  one?.run({ ...answered, universes: 0 }, { seconds: 30 });
  expect(await counted()).toBe(`sandwatch_universes{${labels}} 0`);
});
