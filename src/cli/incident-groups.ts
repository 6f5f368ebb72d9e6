import {
  incidentNotes,
  listIncidents,
  unobservedNote,
  type IncidentView,
} from "../api/operations/incidents.ts";
import { counted, namesText } from "../fleet/text.ts";
import { callOperation, type ApiOptions } from "./call-api.ts";
import type { Look } from "./look.ts";
import { renderTable, type Cell, type Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Of lines in a table; the others are counted. */
const mostShown = 20;

/** Of servers in a line. */
const mostNamed = 5;

/** Incidents of one cause: of one rule in one region and key, in the same state. */
export interface IncidentGroup {
  readonly first: IncidentView;
  readonly all: readonly IncidentView[];
  readonly notes: readonly string[];
}

/** Groups stand where their first incidents do. @param isWhole each incident is a group of its own */
export function groupIncidents(
  incidents: readonly IncidentView[],
  isWhole: boolean,
  { sinceText }: Look,
): readonly IncidentGroup[] {
  // Where the cause is the same, what inhibits them may differ.
  const notesOf = (incident: IncidentView) => incidentNotes(incident, isWhole);
  const causeOf = (incident: IncidentView): string => {
    const { id, rule, severity, region, key, subject, state } = incident;
    const cause = [rule, severity, region, key, subject, state, notesOf(incident)];
    return JSON.stringify(isWhole ? id : cause);
  };
  return [...Map.groupBy(incidents, causeOf).values()].flatMap((all) => {
    const [first] = all;
    if (!first) return [];
    const isOne = all.length === 1;
    return [
      { first, all, notes: isOne ? incidentNotes(first, isWhole, sinceText) : notesOf(first) },
    ];
  });
}

/** Reads all incidents that a request selects, not only the first page of them. */
export async function readIncidents(
  options: ApiOptions,
  terminal: Terminal,
  request: Readonly<Record<string, unknown>>,
) {
  const incidents: IncidentView[] = [];
  const notes = new Set<string>();
  for (let before: string | null | undefined; before !== null;) {
    const each = { ...request, limit: 1_000, before };
    const page = await callOperation(options, terminal, listIncidents, each);
    incidents.push(...page.incidents);
    for (const note of page.notes) notes.add(note);
    before = page.next;
  }
  return { incidents, notes: [...notes] };
}

export const startCell = ({ all }: IncidentGroup, { timeText }: Look): Cell =>
  timeText(all.map(({ started_at: at }) => at).toSorted()[0]);

/** Several have no common id. */
export const idCell = ({ first, all }: IncidentGroup): Cell => (all.length === 1 ? first.id : "");

/** Of several: "40 in us/research: github, jira". */
export function groupSubjectCell({ first, all }: IncidentGroup): Cell {
  if (all.length === 1) return incidentSubjectCell(first);
  const { region, key } = first;
  const place = [region, key].filter((part) => part !== null).join("/");
  const names = [...new Set(all.flatMap(({ server_name: name }) => name ?? []))].toSorted();
  const count = place === "" ? counted(all.length, "incident") : `${all.length} in ${place}`;
  const shorter = [`${count}: ${namesText(names, 1)}`, count];
  return names.length === 0 ? count : { text: `${count}: ${namesText(names, mostNamed)}`, shorter };
}

/** Such as "us/research github 1a2b3c4d", "sandbox us/research 5e6f7a8b", "eu/production" and "region eu". */
export function incidentSubjectCell(incident: IncidentView): Cell {
  const { subject, region, key, server_name: name, probe, receiver } = incident;
  const id = incident.server_id ?? incident.sandbox_id;
  const kind = subject === "server" || subject === "target" ? null : subject;
  const place = [region, key].filter((part) => part !== null).join("/");
  const textOf = (...parts: readonly (string | null)[]) => parts.filter(Boolean).join(" ");
  const text = textOf(kind, place, name, id, probe, receiver);
  // An id is what other commands need: it is whole where there is hardly any space.
  return id === null ? text : { text, shorter: [textOf(name, id), id] };
}

/** Whether nobody is notified of it. */
export function isQuiet({ muted, inhibited_by: inhibitor }: IncidentView): boolean {
  return muted || inhibitor !== null;
}

/** Those of which somebody was notified, and of which it is not known whether they go on; and the others. */
export function partIncidents(incidents: readonly IncidentView[]) {
  const isUnobserved = (each: IncidentView): boolean => !each.observed && !isQuiet(each);
  return {
    unobserved: incidents.filter(isUnobserved),
    observed: incidents.filter((each) => !isUnobserved(each)),
  };
}

/** A table of the first items; empty: there are none. */
export function rowsText<Item>(
  items: readonly Item[],
  columns: Columns<Item>,
  isWhole: boolean,
  look: Look,
): string {
  if (items.length === 0) return "";
  const listed = isWhole ? items : items.slice(0, mostShown);
  const more = items.length - listed.length;
  const table = renderTable(listed, columns, look);
  return more > 0 ? `${table}and ${more} more; --all lists them\n` : table;
}

/** What fires of servers and sandboxes that are not observed is counted and listed apart. */
export function unobservedText(
  incidents: readonly IncidentView[],
  columns: Columns<IncidentGroup>,
  isWhole: boolean,
  look: Look,
): string {
  // The title says it of all.
  const groups = groupIncidents(incidents, isWhole, look).map((group) => ({
    ...group,
    notes: group.notes.filter((note) => note !== unobservedNote),
  }));
  const rows = rowsText(groups, columns, isWhole, look);
  const title = `not observed at present, so when last observed (${incidents.length}):`;
  return rows === "" ? "" : `${look.paint("bold", title)}\n${rows}`;
}
