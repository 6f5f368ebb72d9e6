/** One of the things that a request says it would take. */
export interface Preference {
  /** In lower case. */
  readonly value: string;
  /** Names and values in lower case; without `q`. */
  readonly parameters: ReadonlyMap<string, string>;
  /** From 0, not at all, to 1. */
  readonly quality: number;
}

/** What a header such as Accept or Accept-Encoding lists, in its order (RFC 9110, 12.4). */
export function parsePreferences(header: string | undefined): readonly Preference[] {
  return (header ?? "")
    .toLowerCase()
    .split(",")
    .map((item) => {
      const [value = "", ...rest] = item.split(";").map((part) => part.trim());
      const parameters = new Map(rest.map(parseParameter));
      const quality = qualityOf(parameters.get("q"));
      parameters.delete("q");
      return { value, parameters, quality };
    })
    .filter(({ value }) => value !== "");
}

function parseParameter(text: string): readonly [string, string] {
  const [name = "", ...value] = text.split("=");
  return [name.trim(), value.join("=").trim().replaceAll('"', "")];
}

/** One that cannot be read says nothing. */
function qualityOf(text: string | undefined): number {
  return text !== undefined && /^[01](\.\d*)?$/.test(text) ? Math.min(Number(text), 1) : 1;
}
