import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { catchControl, judgedWorld, negativeControls } from "./judged-worlds.ts";
import { simulate } from "./simulate.ts";
import { timeText } from "./support/world.ts";

/**
 * npm run test:sim -- --seeds 200 --start 1 [--story] [--controls [--half 0|1]] [--report FILE]: exit code 1 when a
 * seed broke a promise or a negative control was not caught. The report counts both as tests. Each half of the controls
 * takes one core.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    start: { type: "string", default: "1" },
    story: { type: "boolean", default: false },
    controls: { type: "boolean", default: false },
    half: { type: "string" },
    report: { type: "string" },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const count = Number(values.seeds);
const beganMs = performance.now();
let failures = 0;
for (let seed = Number(values.start); seed < Number(values.start) + count; seed += 1) {
  const story = values.story ? (await simulate(seed)).story : [];
  for (const { atMs, text } of story) say(`${timeText(atMs)}  ${text}`);
  const { broken } = await judgedWorld(seed);
  if (broken === "") continue;
  failures += 1;
  say(`${broken}\n`);
}
const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1);
const kept = failures === 0 ? "every promise was kept" : `${failures} worlds broke a promise`;
if (count > 0) say(`${count} worlds, ${seconds} s: ${kept}`);

// By the worlds that they begin with: the unbroken daemon runs once in each of them.
const ranked = negativeControls.toSorted(([, one], [, other]) => one.from - other.from);
const isChosen = (rank: number): boolean =>
  values.half === undefined || Math.floor((2 * rank) / ranked.length) === Number(values.half);
const controls = values.controls ? ranked.filter((_, rank) => isChosen(rank)) : [];
let missed = 0;
for (const [name, control] of controls) {
  const { isCaught, text } = await catchControl(control);
  if (isCaught) continue;
  missed += 1;
  say(`not caught: a daemon that ${name}: ${text}`);
}
if (controls.length > 0) {
  say(`${controls.length - missed} of ${controls.length} broken daemons were caught`);
}

const failed = failures + missed;
if (failed > 0) process.exitCode = 1;
if (values.report !== undefined) {
  const passed = count + controls.length - failed;
  const report = { numPassedTests: passed, numFailedTests: failed, testResults: [] };
  writeFileSync(values.report, JSON.stringify(report));
}
