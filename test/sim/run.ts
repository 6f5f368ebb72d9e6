import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { accountOf, catchControl, negativeControls } from "./judged-worlds.ts";
import { judgeRun } from "./oracle/judge-run.ts";
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
const start = Number(values.start);
const end = start + Number(values.seeds);
const beganMs = performance.now();
let failures = 0;
let simulatedMs = 0;
let deaths = 0;
for (let seed = start; seed < end; seed += 1) {
  const run = await simulate(seed);
  simulatedMs += run.history.endMs;
  deaths += run.history.lives.length - 1;
  if (values.story) for (const { atMs, text } of run.story) say(`${timeText(atMs)}  ${text}`);
  const violations = judgeRun(run.scenario, run.history);
  if (violations.length === 0) continue;
  failures += 1;
  say(accountOf(run, violations));
  say("");
}
const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1);
if (end > start) {
  say(
    `${end - start} worlds, ${timeText(simulatedMs)} in them, ${deaths} restarts, ${seconds} s: ` +
      (failures === 0 ? "every promise was kept" : `${failures} worlds broke a promise`),
  );
}

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
  const passed = end - start + controls.length - failed;
  const report = { numPassedTests: passed, numFailedTests: failed, testResults: [] };
  writeFileSync(values.report, JSON.stringify(report));
}
