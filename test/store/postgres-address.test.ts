import { expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { openPostgres } from "../../src/store/postgres/database.ts";

it.each([
  ["an address", "postgresql://db.example.com/sandwatch", /store\.postgres\.url_file/],
  [
    "a file of certificates",
    "postgresql://sandwatch@db.example.com/sandwatch?sslrootcert=/there/is/no/such/file",
    /no such file.*sslrootcert in store\.postgres\.url/,
  ],
])(
  "%s of PostgreSQL that cannot be read is refused with the setting to correct",
  async (_, url, words) => {
    const settings = { url: new Secret(url), schema: "sandwatch", ca: null };
    await expect(openPostgres(settings)).rejects.toThrow(words);
  },
);
