import { createHash } from "node:crypto";

/** The length of the shortest piece of a secret that counts as leaked. */
const piece = 8;
/** In base64, whatever is before it. */
const base64Piece = 10;

const fingerprints = 2 ** 20;

/** How many characters a fingerprint is of: each shifts out four of its twenty bits. */
const fingerprintLength = 5;

/** Of the last characters of a text, from that of those before its last one. */
function nextFingerprint(before: number, text: string, at: number): number {
  return ((before << 4) ^ (Math.imul(text.charCodeAt(at), 0x9e3779b1) >>> 12)) & (fingerprints - 1);
}

/**
 * Distinct secrets, and a search for any piece of 8 characters of one: as it is, in either case, reversed, in base64,
 * base64url, hex or percent-encoded. Escapes of JSON and HTML change none of their characters.
 */
export function plantSecrets() {
  /** By length, the forms of pieces and the name of their secret. */
  const forms = new Map<number, Map<string, string>>();
  /** Those of the forms. Most places in a text have another one, and nothing else is looked up for them. */
  const known = new Uint8Array(fingerprints);
  const names: string[] = [];
  const note = (form: string, length: number, name: string): void => {
    const ofLength = forms.get(length) ?? new Map<string, string>();
    forms.set(length, ofLength);
    let fingerprint = 0;
    for (let at = 0; at < form.length; at += 1) {
      fingerprint = nextFingerprint(fingerprint, form, at);
      if (at >= fingerprintLength - 1) known[fingerprint] = 1;
      if (at + length <= form.length) ofLength.set(form.slice(at, at + length), name);
    }
  };

  /** Takes a secret that was made elsewhere. */
  const take = (name: string, secret: string): string => {
    names.push(name);
    const bytes = Buffer.from(secret);
    const hex = bytes.toString("hex");
    note(secret.toLowerCase(), piece, name);
    note(Array.from(secret.toLowerCase()).toReversed().join(""), piece, name);
    note(hex, 2 * piece, name);
    note(hex.replaceAll(/../g, "%$&"), 3 * piece, name);
    for (const before of [0, 1, 2]) {
      // Only what does not depend on the neighbours.
      const text = Buffer.concat([Buffer.alloc(before), bytes])
        .toString("base64")
        .slice(4, -4);
      note(text, base64Piece, name);
      note(text.replaceAll("+", "-").replaceAll("/", "_"), base64Piece, name);
    }
    return secret;
  };

  return {
    names: names as readonly string[],
    take,
    plant: (name: string, length = 24): string => {
      const digest = createHash("sha512").update(name).digest("base64");
      return take(name, digest.replaceAll(/[^A-Za-z0-9]/g, "").slice(0, length));
    },
    /** The names of the secrets of which a text has a piece. */
    leaksIn: (text: string): readonly string[] => {
      const found = new Set<string>();
      const search = (searched: string, lengths: readonly number[]): void => {
        let fingerprint = 0;
        for (let end = 0; end < searched.length; end += 1) {
          fingerprint = nextFingerprint(fingerprint, searched, end);
          if (known[fingerprint] === 0 || end < fingerprintLength - 1) continue;
          const at = end - fingerprintLength + 1;
          for (const length of lengths) {
            const name = forms.get(length)?.get(searched.slice(at, at + length));
            if (name !== undefined) found.add(name);
          }
        }
      };
      search(text.toLowerCase(), [piece, 2 * piece, 3 * piece]);
      search(text, [base64Piece]);
      return [...found];
    },
  };
}
