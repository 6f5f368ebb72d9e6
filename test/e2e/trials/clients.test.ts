import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { hashPassword } from "../../../src/lib/password.ts";
import { freeAddress } from "../../support/free-address.ts";
import { startSandwatchWithFewFiles } from "../../support/sandwatch-process.ts";
import { besiege, hold, openTo, pollTimeout } from "../support/siege.ts";
import { prepareTrial } from "../support/trial.ts";

const get = (path: string, headers = "") =>
  `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\n`;
const times = <Value>(count: number, make: (index: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

it("withstands clients that send thousands of requests at once and read slowly", async () => {
  const trial = await prepareTrial({ pollTimeout });
  const daemon = await trial.start();
  const text = Buffer.from(get("/api/x").repeat(8_000));
  const { log } = await besiege({
    trial,
    daemon,
    attack: (signal) =>
      hold(
        times(60, () => openTo(daemon.address, text).on("readable", () => {})),
        signal,
        1_000,
      ),
  });
  expect(log).toContain('"reason":"pipelining"');
});

it("withstands clients that do not read", async () => {
  const trial = await prepareTrial({ servers: 1_000, pollTimeout });
  const daemon = await trial.start();
  const { log } = await besiege({
    trial,
    daemon,
    attack: (signal) =>
      hold(
        times(60, (index) =>
          openTo(
            daemon.address,
            get(["/metrics", "/api/v1/servers?limit=1000", "/"][index % 3] ?? "/"),
          ),
        ),
        signal,
        1_000,
      ),
  });
  expect(log).not.toContain('"level":"error"');
});

it("withstands clients that send headers and bodies without end", async () => {
  const trial = await prepareTrial({ pollTimeout });
  const daemon = await trial.start();
  const { log } = await besiege({
    trial,
    daemon,
    async attack(signal) {
      const sockets = times(500, (index) =>
        openTo(
          daemon.address,
          index % 2 === 0
            ? "GET / HTTP/1.1\r\nx: "
            : `POST /api/v1/silences HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 200000\r\n\r\n`,
        ),
      );
      const sending = setInterval(
        () => sockets.forEach((socket) => socket.write("a".repeat(100))),
        50,
      );
      await hold(sockets, signal, 1_500);
      clearInterval(sending);
    },
  });
  expect(log).not.toContain('"level":"error"');
});

it("withstands clients that take all connections: one address cannot keep another out, and health checks have their own", async () => {
  const unfinished =
    "POST /api/v1/silences HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
  const health = await freeAddress();
  const trial = await prepareTrial({
    pollTimeout,
    settings: { http: { listen: "127.0.0.1:0", health_listen: health } },
  });
  const daemon = await trial.start((args) => startSandwatchWithFewFiles(400, args));
  let isAnswered = false;
  await besiege({
    trial,
    daemon,
    healthAddress: `http://${health}`,
    async attack(signal) {
      const sockets = times(300, () => openTo(daemon.address, unfinished));
      await setTimeout(300);
      const other = openTo(daemon.address, get("/-/healthy"), "127.0.0.2");
      const answered = new Promise((resolve) => void other.once("readable", resolve));
      await Promise.race([answered, hold([], signal)]);
      isAnswered ||= String(other.read()).startsWith("HTTP/1.1 200");
      await hold([...sockets, other], signal, 500);
    },
  });
  expect(isAnswered).toBe(true);
});

it("withstands a client that opens hundreds of event streams", async () => {
  const trial = await prepareTrial({ pollTimeout });
  const daemon = await trial.start();
  const { log } = await besiege({
    trial,
    daemon,
    attack: (signal) =>
      hold(
        times(600, () => openTo(daemon.address, get("/api/v1/events"))),
        signal,
        1_000,
      ),
  });
  expect(log).not.toContain('"level":"error"');
});

it("withstands guesses at passwords, and lets another user in", async () => {
  const password_hash = await hashPassword("correct horse battery");
  const trial = await prepareTrial({
    pollTimeout,
    settings: {
      http: {
        listen: "127.0.0.1:0",
        auth: {
          anonymous: "metrics",
          users: ["ann", "bob"].map((name) => ({ name, role: "viewer", password_hash })),
        },
      },
    },
  });
  const daemon = await trial.start();
  const basic = (user: string, password: string) =>
    `authorization: Basic ${Buffer.from(`${user}:${password}`).toString("base64")}\r\n`;
  let isIn = false;
  const { log } = await besiege({
    trial,
    daemon,
    async attack(signal) {
      const guesses = times(300, (index) =>
        openTo(
          daemon.address,
          get("/", basic(index % 2 === 0 ? "bob" : `nobody-${index}`, `guess ${index}`)),
          `127.0.0.${2 + (index % 50)}`,
        ),
      );
      await setTimeout(100);
      const right = openTo(daemon.address, get("/", basic("ann", "correct horse battery")));
      await new Promise((resolve) => void right.once("readable", resolve));
      isIn ||= String(right.read()).startsWith("HTTP/1.1 200");
      await hold([...guesses, right], signal, 500);
    },
  });
  expect(isIn).toBe(true);
  expect(log).toContain('"reason":"wrong_credentials"');
});
