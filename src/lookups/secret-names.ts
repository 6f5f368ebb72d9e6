/** Anywhere in a name, as which its letters and digits are taken together. */
const telling = [
  "token",
  "secret",
  "passw",
  "passphrase",
  "passcode",
  "credential",
  "cookie",
  "bearer",
  "jwt",
  "apikey",
  "accesskey",
  "privatekey",
  "signingkey",
  "encryptionkey",
  "sshkey",
  "authkey",
  "sessionkey",
  "sessionid",
  "authoriz",
  "authentication",
  "connectionstring",
  "webhook",
];

/** Too short to be looked for anywhere: as a word of the name. */
const tellingWords: ReadonlySet<string> = new Set([
  "auth",
  "oauth",
  "pass",
  "pwd",
  "otp",
  "totp",
  "pin",
  "cvv",
  "cvc",
  "dsn",
  "sid",
  // What the interface document has as free-form, and says nothing of.
  "metadata",
]);

/** A longer name is not one that a person gave. */
const longestName = 200;

/** Whether what goes by that name is likely nobody's business: `api_key`, `X-Auth`, `refreshToken`. */
export function isSecretName(name: string): boolean {
  const plain = name.slice(0, longestName).normalize("NFKC");
  const words = plain
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, " ")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  if (words.some((word) => tellingWords.has(word))) return true;
  const joined = words.join("");
  return telling.some((part) => joined.includes(part));
}

/** Whether what goes by that name is an address, whatever it looks like. */
export function isAddressName(name: string): boolean {
  return /(?:ur[li]|href|link|endpoint)s?$/i.test(name.slice(-longestName));
}
