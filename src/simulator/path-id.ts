import type { z } from "zod";
import type { validationEntrySchema } from "../service/schemas.ts";

type ValidationEntry = z.input<typeof validationEntrySchema>;

/** Longest id, in characters, that the simulated service takes. */
export const longestId = 128;

export type PathId =
  | { readonly kind: "valid"; readonly id: string }
  | { readonly kind: "invalid"; readonly entry: ValidationEntry };

/** @param parameter the path parameter's name in the interface document, for the error's `loc` */
export function readPathId(rawId: string, parameter: string): PathId {
  const id = decode(rawId);
  const invalid = (at: number, type: string, msg: string, more: object = {}): PathId => ({
    kind: "invalid",
    entry: {
      loc: ["path", parameter],
      msg,
      type,
      input: id ?? rawId,
      ctx: { position: at, ...more },
    },
  });
  if (id === null) {
    return invalid(rawId.indexOf("%"), "string_unicode", "Input should be valid UTF-8");
  }
  if (id.length > longestId) {
    return invalid(
      longestId,
      "string_too_long",
      `String should have at most ${longestId} characters`,
      {
        max_length: longestId,
      },
    );
  }
  const control = id.search(/\p{Cc}/u);
  if (control >= 0) {
    return invalid(control, "string_pattern_mismatch", "String should hold no control character", {
      pattern: "^\\P{Cc}*$",
    });
  }
  return { kind: "valid", id };
}

function decode(rawId: string): string | null {
  try {
    return decodeURIComponent(rawId);
  } catch {
    return null;
  }
}
