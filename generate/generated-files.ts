import { prometheusRule } from "./prometheus-rule.ts";

/** What is checked in although it is made of something else: its path, and how its text is made. */
export const generatedFiles: ReadonlyMap<string, () => string> = new Map([
  ["config/kubernetes/base/prometheus-rule.yaml", prometheusRule],
]);
