import type { z } from "zod";

/** What is allowed, where a schema itself says nothing of it. */
export function allowedWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "string") {
        return Array.isArray(issue.input) ? "one text, given once" : "a text";
      }
      return issue.expected === "object" ? "an object with fields" : undefined;
    case "too_small":
      return issue.origin === "string" ? "a text that is not empty" : undefined;
    case "too_big":
      if (issue.origin === "string") return `a text of at most ${issue.maximum} characters`;
      return issue.origin === "array" ? `at most ${issue.maximum} of them` : undefined;
    default:
      return undefined;
  }
}
