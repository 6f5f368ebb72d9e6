/** The text format 0.0.4 of Prometheus. */
export const textContentType = "text/plain; version=0.0.4; charset=utf-8";

/** A label's value as the format writes it between quotes. */
export function escapeLabelValue(value: string): string {
  return /[\\\n"]/.test(value)
    ? value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')
    : value;
}

/** Large enough that sending a piece costs little against rendering it. Characters. */
const largePiece = 64 * 1_024;

/** The same text in few pieces: a write for each line would cost more than the lines. */
export function inLargePieces(pieces: Iterable<string>): readonly string[] {
  const large: string[] = [];
  let current = "";
  for (const piece of pieces) {
    current += piece;
    if (current.length < largePiece) continue;
    large.push(current);
    current = "";
  }
  if (current !== "") large.push(current);
  return large;
}

export function familyHeader(name: string, help: string, type: "gauge" | "counter"): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}
