import { expect, it } from "vitest";
import { writeConfig } from "../support/config-file.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { runCommand } from "../support/run-command.ts";

const silence = "silence add --author ann --url http://x";
const report = "report --config CONFIG --from 7d";

it.each([
  ["run", "--config"],
  ["rum", "Did you mean run?"],
  ["help rum", "unknown command 'rum'"],
  ["simulate --port eighty", "It must be a whole number"],
  ["poll --config /nowhere/at-all.yaml", "/nowhere/at-all.yaml"],
  ["incidents", "either --config FILE or --url"],
  ["incidents --url x", "--url must be an address"],
  ["incidents --url http://x --config y", "cannot be used with"],
  ["ack abc --url http://x", "--author"],
  ["ack --author ann --url http://x", "--sandbox or --all"],
  ["ack abc --all --author ann --url http://x", "--sandbox or --all"],
  [`${silence} --region us`, "--reason"],
  [`${silence} --reason moved --for 2h`, "or --all"],
  [`${silence} abc --all --reason moved --for 2h`, "or --all"],
  [`${silence} --reason moved --region us`, "--for, such as 2h"],
  ["notifications replay --url http://x", "either --seq"],
  ["lookup user --config CONFIG", "missing required argument 'id'"],
  ["lookup universes x --config CONFIG", "too many arguments"],
  ["lookup user .. --config CONFIG", "other than . and .."],
  ["lookup user u1 --region su --config CONFIG", "(--region, --key): us/research, eu/research."],
  ["report --config CONFIG --to 2026-11-01", "--from"],
  ["report --config CONFIG --from 2026-11-02 --to 2026-11-01", "to: a time after from"],
  [`${report} --by key,colour`, "labels of keys: none; colour is not one of them"],
  ["incidents --state fired --url http://x", '"fired" is not one of pending, firing, resolved'],
  ["changes --to-status off --url http://x", "error, unknown, absent"],
  ["poll", "poll calls the service itself"],
  ["poll --url http://x", "With --now, the daemon at --url or SANDWATCH_URL polls"],
  ["poll --config CONFIG --region us", "--region and --key need --now"],
  ["completion csh", "Allowed choices are bash, zsh, fish"],
  [`${report} --tz Mars/Olympus`, "a time zone such as"],
  [`${report} --format xml`, "Allowed choices are table, csv, json, html, openmetrics"],
  [`${report} --resolution 5m --by hour`, "omit --url, --by, --tz, --server and --sandbox"],
  [`${report} --resolution 5m --format csv`, "for --format openmetrics only"],
  ["conformance --config CONFIG", "Choose one by region and key (--region, --key): us/research, "],
  ["conformance --config CONFIG --region us --user ..", "Allowed: user: an id of"],
  ["conformance --base-url https://127.0.0.1:1", "SANDWATCH_API_KEY"],
  ["conformance --base-url http://example.com/", "with http the key would be sent unencrypted"],
  ["conformance --base-url ftp://example.com/", "--base-url must be an address"],
  ["conformance --base-url https://127.0.0.1:1 --region us", "cannot be used with"],
])("%s is refused with exit code 2", async (command, message) => {
  const base_url = "http://127.0.0.1:1";
  const regions = { us: { base_url }, eu: { base_url } };
  const { config } = writeConfig({ regions, store: { path: freshStoreFile() } });
  const args = command.replace("CONFIG", config).split(" ");
  const ended = await runCommand(args, { SANDWATCH_API_KEY: "" });
  expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
});

it.each([
  ["/nowhere/cli.pem", "client certificate cannot be used: it does not exist"],
  [import.meta.filename, "must have a certificate and its key"],
])("the client certificate %s is refused with exit code 2", async (file, message) => {
  const environment = { SANDWATCH_CLIENT_CERTIFICATE: file };
  const ended = await runCommand(["incidents", "--url", "https://127.0.0.1:1"], environment);
  expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
});

it("a token in the place of the name of its file is not repeated", async () => {
  const token = "a-token-and-no-file";
  const ended = await runCommand([
    "incidents",
    "--url",
    "http://127.0.0.1:1",
    "--token-file",
    token,
  ]);
  expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining("does not exist") });
  expect(ended.err).not.toContain(token);
});
