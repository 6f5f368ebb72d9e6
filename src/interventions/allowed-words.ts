import type { z } from "zod";

const typeWords: Readonly<Record<string, string>> = {
  object: "an object with fields",
  array: "a list",
  int: "a whole number",
};

/** What is allowed, where a schema itself says nothing of it. */
export function allowedWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "string") {
        return Array.isArray(issue.input) ? "one text, given once" : "a text";
      }
      return typeWords[issue.expected];
    case "too_small":
      if (issue.origin === "string") return "a text that is not empty";
      return issue.origin === "array"
        ? `at least ${issue.minimum} of them`
        : `a number of at least ${issue.minimum}`;
    case "too_big":
      if (issue.origin === "string") return `a text of at most ${issue.maximum} characters`;
      return issue.origin === "array" ? `at most ${issue.maximum} of them` : undefined;
    default:
      return undefined;
  }
}
