import type { Socket } from "node:net";
import type { Options as MailOptions } from "nodemailer/lib/mailer";
import type SmtpConnection from "nodemailer/lib/smtp-connection";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import type { Clock } from "../../lib/clock.ts";
import { requestTimeoutMs, type SenderDeps } from "../outbound.ts";
import type { AttemptFailureReason } from "../receiver.ts";

export type SubmissionSettings = Pick<
  ConfigOf<"email">,
  "host" | "port" | "tls" | "auth" | "viaProxy"
>;

/** A recipient that the server did not take, and the code of its answer. */
export interface RefusedRecipient {
  readonly address: string;
  readonly code: number;
}

/** Why an e-mail could not be handed over, without any text of the server. */
export class SmtpError extends Error {
  override readonly name = "SmtpError";
  readonly reason: AttemptFailureReason;

  constructor(reason: AttemptFailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What an e-mail consists of, and who it is from. */
export interface Email extends MailOptions {
  from: { readonly name: string; readonly address: string };
  text: string;
}

const minuteMs = 60_000;
/** How long a server may take for an answer, and after the final dot: RFC 5321, section 4.5.3.2. There is no limit for all. */
export const longestAnswerMs = 5 * minuteMs;
export const longestDeliveryMs = 10 * minuteMs;
/** How often it is looked whether anything was sent or received. */
const lookMs = minuteMs / 2;

/** @returns hands an e-mail over to the SMTP server, and resolves with the recipients that it refused */
export function createSubmission(
  { host, port, tls, auth, viaProxy }: SubmissionSettings,
  { clock, outbound: { connect, secureContext } }: SenderDeps,
) {
  return async (
    email: Email,
    recipients: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly RefusedRecipient[]> => {
    // Loaded only here: most installations send no e-mail.
    const { default: Connection } = await import("nodemailer/lib/smtp-connection");
    const { default: Composer } = await import("nodemailer/lib/mail-composer");
    const message = new Composer({ ...email, disableFileAccess: true, disableUrlAccess: true });
    const to = { protocol: "smtp:", hostname: host, port: String(port), viaProxy };
    const socket = await inTime(clock, signal, (limited) => connect(to, limited));
    const smtp = new Connection({
      connection: socket,
      host,
      port,
      secure: tls === "tls",
      requireTLS: tls === "starttls",
      ignoreTLS: tls === "none",
      ...(secureContext && { tls: { secureContext } }),
      // The limits are those of each step below.
      connectionTimeout: longestDeliveryMs,
      greetingTimeout: longestDeliveryMs,
      socketCloseTimeout: 0,
    });
    const step = createSteps(smtp, socket, clock, signal);
    try {
      await step<void>(longestAnswerMs, (done) => smtp.connect(done));
      if (auth) {
        const credentials = { user: auth.username, pass: auth.password.reveal() };
        await logIn(smtp, (method) =>
          step(longestAnswerMs, (done) => smtp.login({ method, credentials }, done)),
        );
      }
      const envelope = { from: email.from.address, to: [...recipients] };
      const stream = message.compile().createReadStream();
      const sent = await step<SmtpConnection.SentMessageInfo>(longestDeliveryMs, (done) =>
        smtp.send(envelope, stream, done),
      );
      return refusedIn(sent?.rejectedErrors);
    } catch (error) {
      const refused = refusedIn(fieldOf(error, "rejectedErrors"));
      // The server took nobody.
      if (refused.length > 0) return refused;
      throw error;
    } finally {
      smtp.close();
    }
  };
}

/** To connect takes no longer than a request to other receivers. */
async function inTime<Value>(
  clock: Clock,
  signal: AbortSignal,
  begin: (limited: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const timeout = new AbortController();
  const cancel = clock.setTimer(requestTimeoutMs, () => timeout.abort());
  try {
    return await begin(AbortSignal.any([signal, timeout.signal]));
  } catch (error) {
    throw timeout.signal.aborted ? noAnswer() : error;
  } finally {
    cancel();
  }
}

function noAnswer(): SmtpError {
  return new SmtpError("timeout", "no answer");
}

type Done<Value> = (error?: Error | null, value?: Value) => void;

/** Each step ends when nothing was sent or received for its limit, the connection fails, or the signal aborts. */
function createSteps(smtp: SmtpConnection, socket: Socket, clock: Clock, signal: AbortSignal) {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  smtp.on("error", broken.reject);
  signal.addEventListener("abort", () => broken.reject(new Error("aborted")), { once: true });
  if (signal.aborted) broken.reject(new Error("aborted"));

  return async <Value>(
    limitMs: number,
    begin: (done: Done<Value>) => void,
  ): Promise<Value | undefined> => {
    const ended = Promise.withResolvers<Value | undefined>();
    let cancel = (): void => {};
    let bytes = 0;
    let idleMs = 0;
    const look = (): void => {
      const now = socket.bytesRead + socket.bytesWritten;
      idleMs = now === bytes ? idleMs + lookMs : 0;
      bytes = now;
      if (idleMs >= limitMs) return ended.reject(noAnswer());
      cancel = clock.setTimer(lookMs, look);
    };
    look();
    begin((error, value) => {
      if (error) ended.reject(error);
      else ended.resolve(value);
    });
    try {
      return await Promise.race([broken.promise, ended.promise]);
    } finally {
      cancel();
    }
  };
}

const methods = ["PLAIN", "LOGIN", "CRAM-MD5"];

/** Tries the methods that the server offers, until one is not refused as a method. */
async function logIn(
  smtp: SmtpConnection,
  attempt: (method: string) => Promise<unknown>,
): Promise<void> {
  const [, listed = ""] = /^\d+[ -]AUTH[ =](.*)$/im.exec(String(smtp.lastServerResponse)) ?? [];
  const offered = methods.filter((each) => listed.toUpperCase().split(/\s+/).includes(each));
  for (const [at, method] of offered.entries()) {
    try {
      await attempt(method);
      return;
    } catch (error) {
      const code = Number(fieldOf(error, "responseCode"));
      const isOfMethod = code >= 500 && code !== 535;
      if (!isOfMethod || at === offered.length - 1) throw error;
    }
  }
  throw new SmtpError("network", "the server offers no authentication by password");
}

function refusedIn(errors: unknown): readonly RefusedRecipient[] {
  if (!Array.isArray(errors)) return [];
  return errors.map((each: unknown) => ({
    address: String(fieldOf(each, "recipient")),
    code: Number(fieldOf(each, "responseCode") ?? 450),
  }));
}

export function fieldOf(error: unknown, name: string): unknown {
  return error instanceof Error
    ? Object.entries(error).find(([each]) => each === name)?.[1]
    : undefined;
}
