import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { formatFaults } from "../../src/config/faults.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { fixedCases, randomCases } from "../support/random-cases.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { configFolder, exampleEnvironment, pathsIn, withAt } from "./support.ts";

const example = readFileSync(join(configFolder, "sandwatch.example.yaml"), "utf8");
const value: unknown = parse(example);
const paths = pathsIn(value);

/** Stand for secrets that were pasted into the wrong place. In no message is any of these words. */
const planted = ["Zq7kPlantedX9w4", "battery"] as const;
const [token, password] = planted;
const secrets: readonly string[] = [
  token,
  token.toLowerCase(),
  `sk-live_${token}`,
  `glpat ${token}`,
  `correct horse ${password} staple`,
  `https://ann:${token}@example.com/${token}?${token}#${token}`,
  `whsec_${token}`,
  `${token}: ${token}`,
  `{${token}}`,
  `\${${token}}`,
  `\${${token}`,
  `*${token}`,
  `!${token} x`,
  `&${token} x`,
  `"\\${token}"`,
  `'${token}`,
  `|${token}`,
  `@${token}`,
  `%${token}`,
  `${token}.5`,
  `127.0.0.1:${token}`,
];

type Edit = (text: string) => string;
const secret = fc.constantFrom(...secrets);
const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const at = (text: string, where: number): number => Math.floor(where * text.length);

/** What is written at random into the text, whatever YAML makes of it. */
const textEdit: fc.Arbitrary<Edit> = fc.oneof(
  fc
    .tuple(
      place,
      fc.oneof(
        secret,
        fc.string({ unit: fc.constantFrom(...":-?#&*!|>'\"%@`{}[], \n\t~<".split("")) }),
      ),
    )
    .map(
      ([where, insert]): Edit =>
        (text) =>
          text.slice(0, at(text, where)) + insert + text.slice(at(text, where)),
    ),
  fc.tuple(place, fc.nat(40)).map(
    ([where, length]): Edit =>
      (text) =>
        text.slice(0, at(text, where)) + text.slice(at(text, where) + length),
  ),
  place.map(
    (where): Edit =>
      (text) =>
        text.slice(0, at(text, where)),
  ),
  fc.tuple(place, place).map(([from, to]): Edit => (text) => {
    const lines = text.split("\n");
    const [moved = ""] = lines.splice(Math.floor(from * lines.length), 1);
    return lines.toSpliced(Math.floor(to * lines.length), 0, moved).join("\n");
  }),
  fc.tuple(place, secret).map(([where, written]): Edit => (text) => {
    // In the place of a value, without the quotes that would keep it one.
    const lines = text.split("\n");
    const index = Math.floor(where * lines.length);
    return lines.with(index, (lines[index] ?? "").replace(/: .*$/, `: ${written}`)).join("\n");
  }),
);

const odd = fc.oneof(
  secret,
  secret,
  fc.constantFrom<unknown>(null, true, 0, -1, 1e21, "", [], {}, "5m", "errr", undefined),
  secret.map((each) => [each]),
  secret.map((each) => ({ [each]: each })),
);

/** Another value somewhere in the example, or a setting under another name. */
const valueEdit = fc
  .array(fc.tuple(fc.constantFrom(...paths), odd, fc.option(secret, { freq: 3 })), {
    minLength: 1,
    maxLength: 3,
  })
  .map((edits): Edit => () => {
    const changed = edits.reduce<unknown>((whole, [path, change, name]) => {
      if (name === null || typeof path.at(-1) !== "string") return withAt(whole, path, change);
      return withAt(withAt(whole, path, undefined), [...path.slice(0, -1), name], change);
    }, value);
    return stringify(changed);
  });

it(`${randomCases(80)} random changes of the example are accepted or refused with positions, and echo no secret`, () => {
  const file = join(tempFolder(), "sandwatch.yaml");
  const edits = fc.oneof(
    fc.array(textEdit, { minLength: 1, maxLength: 3 }),
    valueEdit.map((edit) => [edit]),
  );
  const texts = edits.map((all) => all.reduce((before, edit) => edit(before), example));
  let accepted = 0;
  fc.assert(
    fc.property(texts, (text) => {
      writeFileSync(file, text);
      const loaded = loadConfig(file, exampleEnvironment);
      if (loaded.kind === "ok") return void (accepted += 1);
      expect(loaded.faults.length).toBeGreaterThan(0);
      const lines = text.split("\n");
      for (const { path, position, found, allowed } of loaded.faults) {
        expect([path, found, allowed]).not.toContain("undefined");
        // Of the file as a whole there is no position.
        const { line, column } = position ?? { line: path === "" ? 1 : 0, column: 1 };
        expect(lines[line - 1]?.length).toBeGreaterThanOrEqual(column - 1);
      }
      const shown = formatFaults("sandwatch.yaml", loaded.faults) + JSON.stringify(loaded);
      for (const word of planted) expect(shown.toLowerCase()).not.toContain(word.toLowerCase());
    }),
    fixedCases(80),
  );
  expect(accepted).toBeGreaterThan(0);
});
