import type { z } from "zod";
import type { showTimeline } from "../../api/operations/show-timeline.ts";
import { shownStatuses } from "../../fleet/fleet-search.ts";
import { ageText } from "../browser/age.ts";
import { html, table, timeOf, type Html } from "../html.ts";
import { fillOf, swatch } from "./status-bar.ts";

export type Timeline = z.output<typeof showTimeline.response>;
type Segment = Timeline["segments"][number];

/** With more of them, parts are narrower than what a pointer can hit. */
const mostTitled = 200;

/** An error of a minute is to be seen in a band of a month. */
const leastOfError = 0.004;

/** What a server was from the beginning of a range until now, drawn from left to right. */
export function band({ from, to, segments }: Timeline, label: string): Html {
  const startMs = Date.parse(from);
  const rangeMs = Date.parse(to) - startMs;
  const percent = (share: number): string => `${Number((share * 100).toFixed(3))}%`;
  const parts = segments.map((segment) => {
    const { status } = segment;
    if (status === "absent") return html``;
    const width = lengthOf(segment) / rangeMs;
    const shown = status === "error" ? Math.max(width, leastOfError) : width;
    const left = Math.min((Date.parse(segment.from) - startMs) / rangeMs, 1 - shown);
    const title =
      segments.length > mostTitled
        ? html``
        : html`<title>${status} for ${ageText(lengthOf(segment))}</title>`;
    return html`<rect x="${percent(left)}" width="${percent(shown)}" height="100%" ${fillOf(status)}
      >${title}</rect
    >`;
  });
  // Above the others, so that a short error is not covered.
  const isError = (_: Html, at: number): boolean => segments[at]?.status === "error";
  const inOrder = [...parts.filter((part, at) => !isError(part, at)), ...parts.filter(isError)];
  return html`<svg class="band" role="img" aria-label="${label}: ${sumsText(segments)}">
    ${inOrder}
  </svg>`;
}

const bandStatuses = [...shownStatuses, "absent"] as const;

function sumsOf(segments: readonly Segment[]) {
  const ms = new Map<Segment["status"], number>();
  for (const segment of segments) {
    ms.set(segment.status, (ms.get(segment.status) ?? 0) + lengthOf(segment));
  }
  return bandStatuses.flatMap((status) => {
    const sumMs = ms.get(status) ?? 0;
    return sumMs > 0 ? { status, text: `${status} ${ageText(sumMs)}` } : [];
  });
}

function sumsText(segments: readonly Segment[]): string {
  return sumsOf(segments)
    .map(({ text }) => text)
    .join(", ");
}

/** How long each status lasted, with its colour. */
export function bandSums({ segments }: Timeline): Html {
  return html`<ul class="sums">
    ${sumsOf(segments).map(
      ({ status, text }) => html`<li>${status === "absent" ? "" : swatch(status)} ${text}</li> `,
    )}
  </ul>`;
}

const mostSegments = 100;

/** The same as text, the latest first. */
export function bandTable({ segments }: Timeline): Html {
  const latest = segments.toReversed().slice(0, mostSegments);
  return table(
    latest,
    [
      { head: "Status", cell: ({ status }) => status },
      { head: "From", cell: ({ from }) => timeOf(Date.parse(from)) },
      { head: "For", cell: (segment) => ageText(lengthOf(segment)) },
    ],
    { caption: "What it was, the latest first" },
  );
}

function lengthOf({ from, to }: Segment): number {
  return Date.parse(to) - Date.parse(from);
}
