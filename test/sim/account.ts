import { cronExpression } from "./poll-schedule.ts";
import type { Violation } from "./oracle/violation.ts";
import type { Run } from "./simulate.ts";
import { timeText } from "./support/trace.ts";

const longest = 120;

/** What went wrong in a run, for a person, and what led to it. */
export function account({ scenario, story, hash }: Run, violations: readonly Violation[]): string {
  const about = new Set(violations.flatMap((each) => each.about));
  const telling = story.filter(
    ({ text }) => isAboutTheWorld(text) || Array.from(about).some((name) => text.includes(name)),
  );
  return [
    `seed ${scenario.seed} broke ${violations.length} promises (trace ${hash.slice(0, 16)}):`,
    ...violations.map(({ text }) => `  - ${text.replaceAll(/\b(\d{5,}) ms\b/g, readTime)}`),
    `again: npm run test:sim -- --seeds 1 --start ${scenario.seed} --story`,
    "",
    `polled every ${scenario.intervalMs} ms${scenario.schedule ? ` by ${cronExpression(scenario.schedule)} in ${scenario.schedule.timeZone}` : ""}, gone after ${scenario.goneAfter}`,
    ...scenario.rules.map((rule) => `rule ${JSON.stringify(rule)}`),
    ...scenario.receivers.map((receiver) => `receiver ${JSON.stringify(receiver)}`),
    "",
    ...(telling.length > longest ? [`(the last ${longest} lines of ${telling.length})`] : []),
    ...telling.slice(-longest).map(({ atMs, text }) => `${timeText(atMs)}  ${text}`),
  ].join("\n");
}

function isAboutTheWorld(text: string): boolean {
  return /^(process \d+ (starts|is|stopped|could)|the (store|wall clock)|from now on)/.test(text);
}

function readTime(_: string, ms: string): string {
  return timeText(Number(ms));
}
