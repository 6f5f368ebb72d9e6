/** The text format 0.0.4 of Prometheus, or OpenMetrics 1.0.0. */
export type ExpositionSyntax = "text" | "openmetrics";

/** The end of an OpenMetrics exposition. */
export const endings: Readonly<Record<ExpositionSyntax, string>> = {
  text: "",
  openmetrics: "# EOF\n",
};

/** A label's value as the formats write it between quotes. */
export function escapeLabelValue(value: string): string {
  if (!/[\\\n"\ud800-\udfff]/.test(value)) return value;
  return (value.isWellFormed() ? value : spellSurrogates(value))
    .replaceAll("\\", "\\\\")
    .replaceAll("\n", "\\n")
    .replaceAll('"', '\\"');
}

/** Half a character cannot be encoded: two different ones would become the same label. */
function spellSurrogates(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

/**
 * @param name as a whole: that of a counter ends in `_total`
 * @param help without characters that must be escaped
 */
export function familyHeader(
  syntax: ExpositionSyntax,
  name: string,
  help: string,
  type: string,
): string {
  const isOpenCounter = syntax === "openmetrics" && type === "counter";
  const family = isOpenCounter ? name.replace(/_total$/, "") : name;
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
}

/** OpenMetrics writes bounds as floats, so that one bound is one text: 1.0 rather than 1. */
export function bucketBoundText(syntax: ExpositionSyntax, bound: number): string {
  const text = bound === Infinity ? "+Inf" : String(bound);
  return syntax === "openmetrics" && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/**
 * What prom-client wrote as text, in either syntax. Its own OpenMetrics renames counters for good, so that no
 * later scrape could have them as text.
 */
export function toSyntax(syntax: ExpositionSyntax, text: string): string {
  if (syntax === "text") return `${text}\n`;
  const renamed = text.replaceAll(/^(# (?:HELP|TYPE) \S+)_total(?= )/gm, "$1");
  return `${renamed.replaceAll(/\ble="(-?\d+)"/g, 'le="$1.0"')}\n`;
}
