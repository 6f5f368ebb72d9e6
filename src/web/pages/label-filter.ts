import { withLabelledKeys, type LabelledKey } from "../../api/labelled-keys.ts";
import { html, type Html } from "../html.ts";

export type LabelledKeys = readonly LabelledKey[];

/** The labels of keys that an address asks for: `?label=team=search`, or shorter `?label=team:search`. */
export function readLabels(query: unknown): readonly string[] {
  const given: readonly unknown[] = [Object(query).label].flat();
  return given
    .filter((each) => typeof each === "string")
    .flatMap((each) => each.split(","))
    .filter((each) => each !== "")
    .map((each) => each.replace(/^(\w+):/, "$1="));
}

/**
 * The keys that have these labels; null: all are meant.
 *
 * @throws {RefusedError} when no key has them
 */
export function keysWith(label: readonly string[], keys: LabelledKeys): readonly string[] | null {
  const all: readonly string[] = [];
  return label.length === 0 ? null : withLabelledKeys({ label, key: all }, keys).key;
}

/** @param href where all keys are shown */
export function labelNote(label: readonly string[], href: string): Html {
  return label.length === 0
    ? html``
    : html`<p class="quiet">
        Only keys with ${label.join(" and ")}. <a href="${href}">Show all keys</a>
      </p>`;
}
