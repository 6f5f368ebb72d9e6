import type { Reporter, TestModule } from "vitest/node";

/** What of a deployment is not shown here, whatever passes. */
const notRun = [
  "Grafana, whose image nobody packages for Debian or npm",
  "the published images: debian, node, prometheus, alertmanager and postgres are stand-ins made of Debian's packages, Prometheus and PostgreSQL in other versions",
  "Kubernetes, for which there is no API server",
];

/** Ends the output with `N passed, N failed`, and with what was not run. A file that could not be run is one failure. */
export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter(
      (module) => module.state() === "failed" && module.errors().length > 0,
    ).length;
    for (const what of notRun) process.stdout.write(`not run: ${what}\n`);
    process.stdout.write(`${count("passed")} passed, ${count("failed") + broken} failed\n`);
  }
}
