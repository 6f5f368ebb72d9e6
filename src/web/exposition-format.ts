import { parsePreferences } from "./preferences.ts";
import type { Preference } from "./preferences.ts";

export interface ExpositionFormat {
  readonly syntax: "text" | "openmetrics";
  readonly mediaType: string;
  readonly version: string;
}

const text: ExpositionFormat = { syntax: "text", mediaType: "text/plain", version: "0.0.4" };

/** What is served, in the order in which it is preferred where the request has no preference. */
const formats: readonly ExpositionFormat[] = [
  text,
  { syntax: "openmetrics", mediaType: "application/openmetrics-text", version: "1.0.0" },
  { syntax: "openmetrics", mediaType: "application/openmetrics-text", version: "0.0.1" },
];

/** The format that a request's Accept likes best; where it likes none, the one that all can read. */
export function chooseFormat(accept: string | undefined): ExpositionFormat {
  const preferences = parsePreferences(accept);
  const [best] = formats
    .flatMap((format) => {
      const liked = preferenceFor(format, preferences);
      return liked && liked.quality > 0 ? [{ format, liked }] : [];
    })
    .toSorted(
      (a, b) =>
        b.liked.quality - a.liked.quality ||
        preferences.indexOf(a.liked) - preferences.indexOf(b.liked),
    );
  return best?.format ?? text;
}

export function contentTypeOf({ mediaType, version }: ExpositionFormat): string {
  return `${mediaType}; version=${version}; charset=utf-8`;
}

/** Of those that cover the format, the one that names it most closely. */
function preferenceFor(
  format: ExpositionFormat,
  preferences: readonly Preference[],
): Preference | undefined {
  const [kind = ""] = format.mediaType.split("/");
  const closeness = ({ value, parameters }: Preference): number => {
    const version = parameters.get("version");
    if (version !== undefined && version !== format.version) return 0;
    if (value === format.mediaType) return version === undefined ? 3 : 4;
    if (value === `${kind}/*`) return 2;
    return value === "*/*" ? 1 : 0;
  };
  return preferences
    .filter((preference) => closeness(preference) > 0)
    .toSorted((a, b) => closeness(b) - closeness(a))[0];
}
