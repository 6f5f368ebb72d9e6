import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Fails for each word that the vocabulary has retired, with its file and line:
 * node generate/check-words.ts. Run by `npm run lint`.
 */

/** By what each is replaced. Whole words in prose, and parts of identifiers such as `toldIncidents`. */
const retired: ReadonlyMap<string, string> = new Map([
  ["told", "notified, said"],
  ["tell", "notify, say, distinguish"],
  ["tells", "notifies, says"],
  ["telling", "notification"],
  ["desk", "handler"],
  ["lane", "worker"],
  ["lanes", "workers"],
  ["letters", "template"],
  ["tails", "template"],
  ["rehearsal", "rule test"],
  ["ledger", "engine, registry"],
  ["sighting", "observation, diff"],
  ["sightings", "observations"],
  ["lapse", "gap"],
  ["lapses", "gaps"],
  ["twin", "duplicate"],
  ["twins", "duplicates"],
  ["patience", "Retry-After"],
  ["permit", "token, allow"],
  ["permits", "tokens, allows"],
  ["heed", "honour"],
  ["heeds", "honours"],
  ["ailment", "health"],
  ["ailments", "health"],
  ["vitals", "health"],
  ["lull", "idle"],
  ["booking", "accounting"],
  ["legend", "string table"],
  ["anew", "again"],
  ["whoever", "anyone who"],
  ["left out", "default, omitted"],
  ["so many", "N"],
  ["given up", "dead-lettered, discarded"],
  ["gives up", "dead-letters, discards"],
  ["blind", "down"],
  ["sight", "up"],
  ["unseen", "unobserved"],
  ["spares", "saves"],
  ["of late", "recently"],
  ["marks", "(gone)"],
  ["room", "space, (gone)"],
  ["mishap", "fault"],
  ["mishaps", "faults"],
  ["onlooker", "query"],
  ["onlookers", "queries"],
]);

/** Ordinary words that are retired only as parts of identifiers. */
const retiredInNames: ReadonlyMap<string, string> = new Map([
  ["stay", "dwell"],
  ["stays", "dwells"],
  ["seen", "observed"],
]);

/** Ordinary English, and the words of others. */
const allowed: readonly RegExp[] = [
  /dead[ -]?letters/gi,
  /(?:(?:lower|upper)[- ]case|capital|small) letters|letters(?:,| and| or| added)|and letters/gi,
  /(?:question|quotation) marks|marks (?:it|them|a|the) /gi,
  // A mention of Matrix.
  /[@＠]room\b|\|all\|room\)/g,
  // Streams of random numbers: other names would be other worlds.
  /fork\((?:`patience \$\{name\}`|"onlookers")\)/g,
];

/** What users have written down, where it is read and written. */
const allowedIn: readonly (readonly [files: RegExp, words: RegExp])[] = [
  // Grafana's dashboards and uPlot's charts have legends.
  [
    /^(?:generate\/dashboards|config\/grafana|src\/web\/browser\/occupancy|test\/(?:(?:support|operations)\/)?dashboards)/,
    /legend/gi,
  ],
  // The changes of the API.
  [/changes|^test\/api\/history|^docs\/(?:api|commands)\.md/, /\blapses?\b|\bstayMs\b/g],
  // The drift of the API.
  [/./, /(?:first|last)Seen/g],
];

/** These hold the list, or are generated from files that are checked. */
const skipped = /^generate\/check-words\.ts$|\.json$|\.lock$|\.(?:png|svg|ico)$/;

interface Finding {
  readonly file: string;
  readonly line: number;
  readonly word: string;
}

const phrases = [...retired.keys()].filter((word) => word.includes(" "));

function wordsIn(text: string, patterns: readonly RegExp[]): readonly string[] {
  const line = patterns.reduce((rest, pattern) => rest.replaceAll(pattern, ""), text);
  const lower = line.toLowerCase();
  const found = phrases.filter((phrase) => new RegExp(`\\b${phrase}\\b`).test(lower));
  // What has an underscore is a field, a setting or a metric.
  for (const [name] of line.replaceAll(/\w*_\w*/g, "").matchAll(/[A-Za-z]+/g)) {
    const parts = name
      .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
      .toLowerCase()
      .split(" ");
    found.push(...parts.filter((part) => retired.has(part)));
    if (parts.length > 1) found.push(...parts.filter((part) => retiredInNames.has(part)));
  }
  return found;
}

function findIn(file: string): readonly Finding[] {
  const own = allowedIn.filter(([files]) => files.test(file)).map(([, words]) => words);
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((text, at) =>
      wordsIn(text, [...allowed, ...own]).map((word) => ({ file, line: at + 1, word })),
    );
}

const folders = ["src", "test", "bench", "generate", "docs", "config", "README.md"];
const files = execFileSync("git", ["ls-files", ...folders], { encoding: "utf8" }).split("\n");
const findings = files.filter((file) => file !== "" && !skipped.test(file)).flatMap(findIn);

for (const { file, line, word } of findings) {
  const instead = retired.get(word) ?? retiredInNames.get(word);
  process.stdout.write(`${file}:${line}: "${word}" (${instead})\n`);
}
if (findings.length > 0) process.exitCode = 1;
