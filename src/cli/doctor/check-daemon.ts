import { request, type IncomingMessage } from "node:http";
import { ApiUnavailableError } from "../../api/client.ts";
import type { CallApi } from "../../api/operation.ts";
import { listTargets } from "../../api/operations/targets.ts";
import { OtherDaemonError } from "../call-api.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { Finding } from "./finding.ts";

const targetsAtOnce = 1_000;
const answerTimeoutMs = 5_000;
const elsewhere = "Set http.listen to another port, or";

/**
 * Whether a daemon answers, and how its targets are.
 *
 * @param api null: its port is not known
 * @param address that of `http.listen`
 * @param isStoreInUse whether a daemon has the store
 */
export async function checkDaemon(
  api: CallApi | null,
  address: string,
  isStoreInUse: boolean,
): Promise<readonly Finding[]> {
  if (!api) {
    const text = `http.listen has port 0, so its port is not known; ${isStoreInUse ? "it runs" : "it does not run"}`;
    return [{ level: "note", text }];
  }
  try {
    const up = { true: 0, false: 0, null: 0 };
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await api(listTargets, { limit: targetsAtOnce, cursor });
      for (const target of page.targets) up[`${target.up}`] += 1;
      cursor = page.next;
    }
    const text = `it runs; targets up: ${up.true}, down: ${up.false}, not polled yet: ${up.null}`;
    if (up.false === 0) return [{ level: "ok", text }];
    return [{ level: "failure", text, mend: "Run: sandwatch status" }];
  } catch (error) {
    if (error instanceof OtherDaemonError) {
      const text = `another sandwatch has ${address}: it monitors none of the configured targets`;
      return [{ level: "failure", text, mend: `${elsewhere} stop the other one.` }];
    }
    if (error instanceof RefusedError) return [{ level: "failure", text: error.message }];
    if (!(error instanceof ApiUnavailableError)) throw error;
    if (error.kind !== "nothing_listens") {
      const isOther = error.kind === "other_program" && !isStoreInUse;
      if (isOther) {
        const text = `another program has ${address}: ${await whatAnswers(address)}`;
        return [{ level: "failure", text, mend: `${elsewhere} stop that program.` }];
      }
      const mend =
        "If it needs a token, set SANDWATCH_TOKEN. Otherwise another program listens at http.listen.";
      return [{ level: "warning", text: error.message, mend }];
    }
    if (!isStoreInUse) return [{ level: "note", text: "it does not run" }];
    const text = "it has the store, but does not answer at http.listen";
    const mend =
      "It may be starting or stopping, or run with another configuration. Look at its log.";
    return [{ level: "warning", text, mend }];
  }
}

/** What a program that is no sandwatch says of itself. */
async function whatAnswers(address: string): Promise<string> {
  const signal = AbortSignal.timeout(answerTimeoutMs);
  const answer = await new Promise<IncomingMessage | null>((resolve) => {
    request(address.replace(/^https/, "http"), { method: "HEAD", signal, agent: false })
      .on("response", resolve)
      .on("error", () => resolve(null))
      .end();
  });
  answer?.destroy();
  if (!answer) return "it does not speak HTTP";
  const { server } = answer.headers;
  const name =
    server === undefined ? "" : `, and calls itself ${JSON.stringify(server.slice(0, 100))}`;
  return `it answers HTTP ${answer.statusCode}${name}`;
}
