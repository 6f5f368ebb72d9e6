import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { runChaos } from "./chaos.ts";
import { faultKinds, fencedKinds, isFaultKind } from "./faults.ts";
import { formatChaos, judgeChaos } from "./report.ts";

/**
 * `node test/chaos/run.ts --kills N [--seed S] [--fault KIND]... [--control] [--log FILE]` kills, freezes and cuts off an active
 * process and its standby, and fails if anything was lost, doubled or out of order. With `--control` they have no fence, and
 * it fails if nothing was.
 */
const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    fault: { type: "string", multiple: true },
    control: { type: "boolean", default: false },
    log: { type: "string" },
  },
});
const [kills = 0, seed = 0] = [values.kills, values.seed].map(Number);
if (!Number.isInteger(kills) || kills < 1) {
  process.stderr.write("--kills is a whole number of at least 1\n");
  process.exit(2);
}
const kinds = values.fault ?? (values.control ? fencedKinds : faultKinds);
if (!kinds.every(isFaultKind)) {
  process.stderr.write(`--fault is one of: ${faultKinds.join(", ")}\n`);
  process.exit(2);
}
const stopping = new AbortController();
for (const each of ["SIGINT", "SIGTERM"] as const) process.once(each, () => stopping.abort());
const { signal } = stopping;
const isUnfenced = values.control;
const result = await runChaos({ signal, kills, seed, kinds, isUnfenced, logFile: values.log });
const problems = judgeChaos(result);
process.stdout.write(`${formatChaos(result)}
seed ${seed}, Node.js ${process.version}, ${cpus().length} cores, load average ${loadavg()[0]}
${problems.length === 0 ? "Nothing was lost, doubled or out of order.\n" : `${problems.join("\n")}\n`}`);
if (isUnfenced) {
  process.stdout.write(
    problems.length === 0
      ? "Without the fence it must find something.\n"
      : "As expected without the fence.\n",
  );
}
process.exitCode = problems.length > 0 === isUnfenced ? 0 : 1;
