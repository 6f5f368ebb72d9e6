import type { Command } from "commander";
import { counted, formatDuration } from "../fleet/text.ts";
import { loadTests } from "./rule-tests/load-tests.ts";
import type { PlacedTest } from "./rule-tests/load-tests.ts";
import { isOr, runRuleTest } from "./rule-tests/run-test.ts";
import type { SentMessage } from "./rule-tests/run-test.ts";
import type { Expectation } from "./rule-tests/schema.ts";
import { CommandError } from "./exit-codes.ts";
import { jsonText } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addTestRules(program: Command, terminal: Terminal): void {
  program
    .command("test-rules")
    .description("run tests of alert rules")
    .argument("<file>", "the tests, in YAML")
    .option("--json", "print JSON")
    .action(async (file: string, { json }: { readonly json?: boolean }) => {
      const { config, tests } = loadTests(file, process.env);
      const results: TestResult[] = [];
      for (const test of tests) results.push(resultOf(test, await runRuleTest(test, config)));
      terminal.out(json ? jsonText({ tests: results }) : results.map(resultText).join(""));
      const failed = results.filter(({ passed }) => !passed).length;
      if (failed > 0)
        throw new CommandError(`${failed} of ${counted(results.length, "test")} failed`);
    });
}

type TestResult = ReturnType<typeof resultOf>;

/** Each message must be expected, and each expected one sent. Of several that fit, the first one counts. */
export function resultOf({ name, expect }: PlacedTest, sent: readonly SentMessage[]) {
  const unexpected = [...sent];
  const missing = expect.filter((expectation) => {
    const index = unexpected.findIndex((message) => fits(message, expectation));
    if (index !== -1) unexpected.splice(index, 1);
    return index === -1;
  });
  return {
    name,
    passed: missing.length + unexpected.length === 0,
    missing: missing.map(expectationText),
    unexpected: unexpected.map(messageText),
  };
}

function resultText({ name, passed, missing, unexpected }: TestResult): string {
  return [
    `${passed ? "passed" : "FAILED"}  ${name}\n`,
    ...missing.map((each) => `        expected, not sent:  ${each}\n`),
    ...unexpected.map((each) => `        sent, not expected:  ${each}\n`),
  ].join("");
}

/** Fields that an expectation does not have are not compared. */
function fits({ atMs, notification }: SentMessage, expected: Expectation): boolean {
  const { incidents, truncated } = notification;
  const { servers, sandboxes } = idsOf(notification);
  return (
    atMs === expected.at &&
    notification.type === `incident.${expected.type}` &&
    notification.rule === expected.rule &&
    isOr(expected.receiver, notification.receiver) &&
    isOr(expected.severity, notification.severity) &&
    isOr(expected.summary, notification.summary) &&
    isOr(expected.count, incidents.length + truncated) &&
    isOr(expected.servers?.toSorted().join("\n"), servers.toSorted().join("\n")) &&
    isOr(expected.sandboxes?.toSorted().join("\n"), sandboxes.toSorted().join("\n")) &&
    incidents.every(
      ({ resolvedReason, flapping }) =>
        isOr(expected.reason, resolvedReason) && isOr(expected.flapping, flapping),
    )
  );
}

/** Of the servers and of the sandboxes that its incidents are about. */
function idsOf({ incidents }: SentMessage["notification"]) {
  const ofSandboxes = incidents.filter(({ subject }) => subject === "sandbox");
  return {
    servers: incidents.flatMap(({ serverId }) => serverId ?? []),
    sandboxes: ofSandboxes.flatMap(({ sandboxId }) => sandboxId ?? []),
  };
}

function expectationText({ at, receiver, type, rule, ...rest }: Expectation): string {
  const more = Object.keys(rest).length > 0 ? `  ${JSON.stringify(rest)}` : "";
  return `${formatDuration(at)}  ${receiver ?? "any receiver"}  ${rule} ${type}${more}`;
}

export function messageText({ atMs, notification }: SentMessage): string {
  const { receiver, rule, type, summary, incidents } = notification;
  const { servers, sandboxes } = idsOf(notification);
  const reasons = new Set(incidents.flatMap(({ resolvedReason }) => resolvedReason ?? []));
  return [
    `${formatDuration(atMs)}  ${receiver}  ${rule} ${type.replace("incident.", "")}`,
    ...(servers.length > 0 ? [`servers: ${servers.join(", ")}`] : []),
    ...(sandboxes.length > 0 ? [`sandboxes: ${sandboxes.join(", ")}`] : []),
    ...(reasons.size > 0 ? [`reason: ${[...reasons].join(", ")}`] : []),
    JSON.stringify(summary),
  ].join("  ");
}
