/** Where a setting stands: names of mappings and indexes of lists, from the top. */
export type Path = readonly (string | number)[];

/** Line and column in the file, both counted from one. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with one setting. No text in it holds a secret or a value out of `${...}`. */
export interface Fault {
  /** Such as `alerts.rules[0].for`; empty for the file as a whole. */
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
  /** The nearest known name, when the one found looks misspelt. */
  readonly suggestion: string | null;
  /** Null when the configuration did not come from a file, or the place is not known. */
  readonly position: Position | null;
}

/** A fault before it is told where in the file it stands. */
export interface Finding {
  readonly path: Path;
  readonly found: string;
  readonly allowed: string;
  readonly suggestion?: string | null;
  readonly position?: Position;
}

/** A setting's name is shown only when it looks like one: it could be a value in a wrong place. */
const showableName = /^[\w.-]{1,64}$/;

export function pathText(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!showableName.test(part)) return "[a name that is not shown]";
      if (part.includes(".")) return `["${part}"]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}

/** The path as a key for maps and sets, unlike `pathText` never the same for two paths. */
export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** All faults of a configuration as lines for a person, in the order of the file. */
export function formatFaults(file: string, faults: readonly Fault[]): string {
  const count = faults.length === 1 ? "1 fault" : `${faults.length} faults`;
  const lines = faults.map((fault) => `  ${formatFault(fault)}`);
  return [`${file} cannot be used: ${count}`, ...lines].join("\n");
}

function formatFault(fault: Fault): string {
  const { position, path, suggestion } = fault;
  const place = [position ? `${position.line}:${position.column}` : "", path].filter(Boolean);
  const where = place.length === 0 ? "" : `${place.join(" ")}: `;
  const hint = suggestion === null ? "" : `; did you mean "${suggestion}"?`;
  return `${where}found ${fault.found}; allowed: ${fault.allowed}${hint}`;
}

/** Findings as they are told, each with its place, in the order of the file. */
export function toFaults(
  findings: readonly Finding[],
  locate: (path: Path) => Position | null,
): readonly Fault[] {
  const faults = inFileOrder(
    findings.map((finding) => ({
      path: pathText(finding.path),
      found: finding.found,
      allowed: finding.allowed,
      suggestion: finding.suggestion ?? null,
      position: finding.position ?? locate(finding.path),
    })),
  );
  const known = new Set<string>();
  return faults.filter(({ path, found, allowed, position }) => {
    // An alias has the place of what it stands for, and with that each fault of it.
    const key = JSON.stringify([position ?? path, found, allowed]);
    return !known.has(key) && known.add(key);
  });
}

/** Sorts by place; faults without one come first, otherwise the order stays. */
function inFileOrder(faults: readonly Fault[]): Fault[] {
  const line = (fault: Fault): number => fault.position?.line ?? 0;
  const column = (fault: Fault): number => fault.position?.column ?? 0;
  return faults.toSorted((a, b) => line(a) - line(b) || column(a) - column(b));
}
