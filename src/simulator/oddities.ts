import type { FaultOf, OddKind } from "./faults.ts";

const createdAt = "2026-02-16T12:45:25.770231-08:00";

/** Fixed, so that the same odd things come back at every listing. */
function oddId(number: number): string {
  return `0dd00000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

function server(number: number, over: object = {}): object {
  return {
    id: oddId(number),
    server_name: "filesystem",
    mcp_server_url: null,
    status: "idle",
    benchmark: null,
    updated_at: createdAt,
    metadata: null,
    auth_data: null,
    tags: null,
    ...over,
  };
}

function sandbox(number: number, servers: unknown, over: object = {}): object {
  const id = oddId(number);
  return {
    local_sandbox_id: id,
    created_at: createdAt,
    status: "idle",
    benchmark: null,
    servers,
    ...over,
  };
}

const special = 'quote " backslash \\ newline \n tab \t brace }] , Ünïcödé 沙箱 🏖 nul \u0000';

const builders: Record<OddKind, (length: number) => readonly unknown[]> = {
  null_status: () => [
    sandbox(100, [server(101, { status: null }), server(102, { status: undefined })], {
      status: null,
    }),
  ],
  unheard_status: () => [
    sandbox(200, [server(201, { status: "hibernating" }), server(202, { status: "IDLE" })], {
      status: "rebooting",
    }),
  ],
  missing_id: () => [
    sandbox(300, [server(301, { id: undefined }), server(302)]),
    sandbox(310, [server(311)], { local_sandbox_id: undefined }),
  ],
  wrong_types: () => [
    sandbox(400, [
      server(401, { status: 7 }),
      server(402, { server_name: ["git"], tags: "prod", benchmark: 1 }),
      server(403, { metadata: "none", auth_data: [], updated_at: 1_771_274_725 }),
      "a server",
      null,
    ]),
    sandbox(410, "no servers", { created_at: null }),
    sandbox(420, [], { local_sandbox_id: 42 }),
    "a sandbox",
    null,
  ],
  unknown_field: () => [sandbox(500, [server(501, { gpu: { count: 2 } })], { zone: "b" })],
  duplicate_id: () => [
    sandbox(600, [server(601), server(601, { status: "occupied" })]),
    sandbox(600, [server(602)]),
  ],
  special_characters: () => [
    sandbox(
      700,
      [server(701, { id: `server ${special}`, server_name: special, tags: [special] })],
      {
        local_sandbox_id: `sandbox ${special}`,
        benchmark: special,
      },
    ),
  ],
  long_string: (length) => [sandbox(800, [server(801, { server_name: "x".repeat(length) })])],
};

/** Sandboxes, as JSON, that a service may send though its interface document does not say so. */
export function oddSandboxesJson(fault: FaultOf<"odd">): readonly string[] {
  return fault.kinds.flatMap((kind) =>
    builders[kind](fault.length).map((item) => JSON.stringify(item)),
  );
}
