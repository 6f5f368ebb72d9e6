import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

/** The scrypt hash (RFC 7914) of a password, with its parameters. */
export interface PasswordHash {
  /** The logarithm of the cost to base 2. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const derive = promisify<
  string,
  Buffer,
  number,
  { readonly N: number; readonly r: number; readonly p: number; readonly maxmem: number },
  Buffer
>(scrypt);

/** 64 MiB and about 0.2 s for each attempt, as OWASP recommends for scrypt. */
const cost = { ln: 16, r: 8, p: 2 };
const hashBytes = 32;
const saltBytes = 16;
/** A hash whose verification takes more memory than this is refused. */
const mostBytes = 256 * 2 ** 20;

const pattern =
  /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Reads the PHC string format, `$scrypt$ln=16,r=8,p=2$SALT$HASH`; undefined for anything else. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const [, ln, r, p, salt = "", hash = ""] = pattern.exec(text) ?? [];
  const read = {
    ln: Number(ln),
    r: Number(r),
    p: Number(p),
    salt: Buffer.from(salt, "base64"),
    hash: Buffer.from(hash, "base64"),
  };
  const isCostly = read.ln >= 10 && read.r >= 1 && read.p >= 1 && read.p <= 16;
  return isCostly && memoryOf(read) <= mostBytes ? read : undefined;
}

/** In the PHC string format, with a random salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await scryptOf(password, { ...cost, salt, hash: Buffer.alloc(hashBytes) });
  const { ln, r, p } = cost;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Takes the same time for every password. */
export async function isPassword(password: string, expected: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await scryptOf(password, expected), expected.hash);
}

function scryptOf(password: string, { ln, r, p, salt, hash }: PasswordHash): Promise<Buffer> {
  const maxmem = memoryOf({ ln, r }) * 2;
  // One person's keyboard composes a letter with its accent, another's does not.
  return derive(password.normalize("NFC"), salt, hash.length, { N: 2 ** ln, r, p, maxmem });
}

function memoryOf({ ln, r }: Pick<PasswordHash, "ln" | "r">): number {
  return 128 * 2 ** ln * r;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}
