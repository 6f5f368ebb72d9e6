import { once } from "node:events";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { onTestFinished } from "vitest";
import { cert, key } from "../../support/self-signed.ts";

export interface ReceivedEmail {
  readonly secure: boolean;
  readonly user: string | null;
  readonly from: string;
  readonly to: readonly string[];
  /** By name in lower case, unfolded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly raw: string;
}

function headersOf(raw: string): ReadonlyMap<string, string> {
  const [head = ""] = raw.split("\r\n\r\n");
  const lines = head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

/** An SMTP server on a port of its own that accepts the password `T0PSECRET`, gone when the test ends. */
export async function startSmtpPeer(options: SMTPServerOptions = {}) {
  const emails: ReceivedEmail[] = [];
  const server = new SMTPServer({
    key,
    cert,
    authOptional: true,
    disableReverseLookup: true,
    onAuth({ username = "", password }, _, callback) {
      if (password === "T0PSECRET") return callback(null, { user: username });
      return callback(Object.assign(new Error("wrong: T0PSECRET"), { responseCode: 535 }));
    },
    onData(stream, { secure, user, envelope }, callback) {
      const receive = async (): Promise<void> => {
        const raw = await text(stream);
        const { mailFrom, rcptTo } = envelope;
        emails.push({
          secure,
          user: user === undefined ? null : String(user),
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          headers: headersOf(raw),
          raw,
        });
        callback(null);
      };
      void receive();
    },
    ...options,
  });
  server.on("error", () => {});
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = listening.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return { port, emails: emails as readonly ReceivedEmail[] };
}
