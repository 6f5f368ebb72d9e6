import { RefusedError } from "../lib/refused-error.ts";
import { refuseField } from "./fields.ts";
import { isLabel, unknownField } from "../reports/report-fields.ts";

export interface LabelledKey {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
}

/**
 * A request by labels is one by the keys that have all of them.
 *
 * @throws {RefusedError} when no key has them, or one that it groups by
 */
export function withLabelledKeys<Request>(request: Request, keys: readonly LabelledKey[]): Request {
  if (typeof request !== "object" || request === null) return request;
  if ("by" in request) checkFields(request.by, keys);
  if (!("label" in request)) return request;
  const { label } = request;
  if (!isTexts(label) || label.length === 0) return request;
  const named = "key" in request && isTexts(request.key) ? request.key : [];
  const key = keys
    .filter(({ labels }) => label.every((each) => pairsOf(labels).includes(each)))
    .map(({ name }) => name)
    .filter((name) => named.length === 0 || named.includes(name));
  if (key.length > 0) return { ...request, key };
  const known = [...new Set(keys.flatMap(({ labels }) => pairsOf(labels)))].join(", ") || "none";
  const allowed = `labels that a key has, such as team=search; known: ${known}`;
  throw new RefusedError("invalid", `No key has ${label.join(" and ")}. Allowed: ${allowed}`, [
    { path: "label", allowed },
  ]);
}

function checkFields(by: unknown, keys: readonly LabelledKey[]): void {
  const known = [...new Set(keys.flatMap(({ labels }) => [...labels.keys()]))];
  const wrong = isTexts(by) && by.find((field) => isLabel(field) && !known.includes(field));
  if (typeof wrong !== "string") return;
  refuseField("by", unknownField(wrong, known));
}

function pairsOf(labels: ReadonlyMap<string, string>): readonly string[] {
  return Array.from(labels, ([name, value]) => `${name}=${value}`);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
