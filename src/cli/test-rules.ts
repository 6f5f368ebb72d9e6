import type { Command } from "commander";
import { formatFaults } from "../config/faults.ts";
import { compare, expectationText, messageText } from "./rule-tests/compare.ts";
import type { Difference } from "./rule-tests/compare.ts";
import { loadTests } from "./rule-tests/load-tests.ts";
import type { Rehearsals } from "./rule-tests/load-tests.ts";
import { runRuleTest } from "./rule-tests/run-test.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import type { Terminal } from "./terminal.ts";

interface TestResult extends Difference {
  readonly name: string;
  readonly passed: boolean;
}

export function addTestRules(program: Command, terminal: Terminal): void {
  program
    .command("test-rules")
    .description("run tests of alert rules")
    .argument("<file>", "the tests, in YAML")
    .option("--json", "print JSON")
    .action((file: string, options: { readonly json?: boolean }) =>
      testRules(file, options, terminal),
    );
}

function testRules(file: string, options: { readonly json?: boolean }, terminal: Terminal): void {
  const loaded = loadTests(file, process.env);
  if (loaded.kind === "faulty") {
    throw new CommandError(formatFaults(loaded.file, loaded.faults), exitCodes.wrongUse);
  }
  const results = runTests(loaded.rehearsals);
  const failed = results.filter(({ passed }) => !passed).length;
  terminal.out(options.json === true ? toJson(results) : toText(results));
  if (failed > 0) {
    const all = results.length === 1 ? "the only test" : `${failed} of ${results.length} tests`;
    throw new CommandError(`${all} failed`, exitCodes.failed);
  }
}

function runTests({ config, targets, tests }: Rehearsals): readonly TestResult[] {
  return tests.map((test) => {
    const difference = compare(runRuleTest(test, config, targets), test.expect);
    const passed = difference.missing.length + difference.unexpected.length === 0;
    return { name: test.name, passed, ...difference };
  });
}

function toText(results: readonly TestResult[]): string {
  const lines = results.flatMap(({ name, passed, missing, unexpected }) => [
    `${passed ? "passed" : "FAILED"}  ${name}`,
    ...missing.map((each) => `        expected, not sent:  ${expectationText(each)}`),
    ...unexpected.map((each) => `        sent, not expected:  ${messageText(each)}`),
  ]);
  return `${lines.join("\n")}\n`;
}

function toJson(results: readonly TestResult[]): string {
  const tests = results.map(({ name, passed, missing, unexpected }) => ({
    name,
    passed,
    missing: missing.map(expectationText),
    unexpected: unexpected.map(messageText),
  }));
  return `${JSON.stringify({ tests }, null, 2)}\n`;
}
