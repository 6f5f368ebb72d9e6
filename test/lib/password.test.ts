import { describe, expect, it } from "vitest";
import { hashPassword, isPassword, parsePasswordHash } from "../../src/lib/password.ts";

describe("a password", () => {
  it("is recognised by its hash, however its accents are composed, and no other is; it has another hash each time", async () => {
    const text = await hashPassword("caf\u00e9 au lait");
    const hash = parsePasswordHash(text);
    if (!hash) throw new Error(`${text} cannot be read`);
    expect(await isPassword("cafe\u0301 au lait", hash)).toBe(true);
    expect(await isPassword("cafe au lait", hash)).toBe(false);
    expect(await hashPassword("caf\u00e9 au lait")).not.toBe(text);
  });
});

describe("a password hash", () => {
  const salt = "A".repeat(22);
  const hash = "B".repeat(43);

  it("is read in the PHC string format", () => {
    const read = parsePasswordHash(`$scrypt$ln=15,r=8,p=1$${salt}$${hash}`);
    expect(read).toMatchObject({ ln: 15, r: 8, p: 1 });
    expect([read?.salt.length, read?.hash.length]).toEqual([16, 32]);
  });

  it.each([
    ["of another function", `$argon2id$ln=15,r=8,p=1$${salt}$${hash}`],
    ["that is a plain password", "correct horse battery staple"],
    ["that costs too little", `$scrypt$ln=9,r=8,p=1$${salt}$${hash}`],
    ["that takes too much memory", `$scrypt$ln=24,r=8,p=1$${salt}$${hash}`],
    ["that takes too long", `$scrypt$ln=15,r=8,p=99$${salt}$${hash}`],
    ["without a salt", `$scrypt$ln=15,r=8,p=1$$${hash}`],
    ["that is cut off", `$scrypt$ln=15,r=8,p=1$${salt}$B`],
  ])("%s is refused", (_, text) => {
    expect(parsePasswordHash(text)).toBeUndefined();
  });
});
