import { expect, it } from "vitest";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { runCommand } from "../support/run-command.ts";
import { ann, appToken, botToken, startSlackService } from "../support/slack-service.ts";

it("doctor asks Slack whether it accepts app-level tokens, and opens no connection", async () => {
  const slack = await startSlackService(Date.now);
  const common = { type: "slack_app", url: slack.url, token: botToken, channel: "alerts" };
  const users = { [ann.id]: "ann" };
  const { baseUrl } = await startOneServerService("idle");
  const { config } = writeConfig({
    http: { listen: await freeAddress() },
    regions: { us: { base_url: baseUrl } },
    alerts: {
      receivers: [
        { ...common, name: "app", app_token: appToken, users },
        { ...common, name: "old", app_token: "xapp-T0PSECRET", users },
        { ...common, name: "plain" },
      ],
    },
  });
  const { code, out, err } = await runCommand(["doctor", "--config", config]);
  expect(code).toBe(1);
  expect(out).toContain("ok    app (slack_app): app_token is accepted");
  expect(out).toMatch(
    /FAIL {2}old \(slack_app\): Slack refuses app_token: HTTP 200 invalid_auth\n {8}Its buttons do nothing: it must be an app-level token/,
  );
  expect(out.match(/app_token/g)).toHaveLength(2);
  expect(out + err).not.toContain("T0PSECRET");
  expect([slack.state.opened, slack.calls]).toEqual([0, []]);
});
