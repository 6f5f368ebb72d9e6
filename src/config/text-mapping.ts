import { z } from "zod";
import { refuse } from "./fields.ts";

interface TextMapping {
  /** What it maps to what. */
  readonly what: string;
  readonly isName: (name: string) => boolean;
  readonly nameAllowed: string;
  readonly isText: (text: string) => boolean;
  readonly textAllowed: string;
}

/** A mapping whose names are chosen by the reader, to texts. How it is written is added with `meta`. */
export function textMapping({ what, isName, nameAllowed, isText, textAllowed }: TextMapping) {
  return z.unknown().transform((value, context): ReadonlyMap<string, string> => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return refuse(context, `a mapping from ${what}`);
    }
    const texts = new Map<string, string>();
    for (const [name, own] of Object.entries(value)) {
      if (!isName(name)) return refuse(context, nameAllowed, { path: [name] });
      if (typeof own !== "string" || !isText(own)) {
        return refuse(context, textAllowed, { path: [name] });
      }
      texts.set(name, own);
    }
    return texts;
  });
}
