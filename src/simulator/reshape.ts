import { jsonAnswer, type Answer } from "./answers.ts";
import { faultsOf, type FullFault } from "./faults.ts";

/** An answer, with what the faults change in its JSON. Such an answer is held in memory as a whole. */
export function reshapeAnswer(answer: Answer, faults: readonly FullFault[]): Answer {
  const changes = faultsOf(faults, "reshape");
  if (changes.length === 0) return answer;
  let content: unknown = JSON.parse([...answer.body].join(""));
  for (const { field, value } of changes) content = reshape(content, stepsTo(field), value);
  return { ...jsonAnswer(answer.status, content), headers: answer.headers };
}

/** As in the names of fields elsewhere: `universes[].name` is the name of each of the universes. */
function stepsTo(field: string): readonly string[] {
  return field.split(/\.|(?=\[\])/).filter((step) => step !== "");
}

/** @param to undefined: what is there is left out */
function reshape(value: unknown, [step, ...rest]: readonly string[], to: unknown): unknown {
  if (step === undefined) return to;
  if (step === "[]") {
    return Array.isArray(value) ? value.map((item: unknown) => reshape(item, rest, to)) : value;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const inner = Object.entries(value).find(([name]) => name === step)?.[1];
  return { ...value, [step]: reshape(inner, rest, to) };
}
