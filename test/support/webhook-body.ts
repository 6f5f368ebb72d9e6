import { z } from "zod";

const time = z.iso.datetime({ precision: 3 });
const reportFigures = z.looseObject({
  occupied_share: z.number().nullable(),
  error_share: z.number().nullable(),
  coverage: z.number().nullable(),
  occupied_peak: z.int().nullable(),
  servers_peak: z.int().nullable(),
  headroom: z.int().nullable(),
  incidents: z.int(),
});

/** A message as the contract with receivers has it, to the field. */
export const webhookBodySchema = z.strictObject({
  type: z.enum([
    "incident.firing",
    "incident.reminder",
    "incident.acknowledged",
    "incident.unacknowledged",
    "incident.resolved",
    "report",
    "test",
  ]),
  timestamp: time,
  data: z.strictObject({
    rule: z.string(),
    severity: z.enum(["critical", "warning", "info"]),
    group: z.record(z.string(), z.string()),
    summary: z.string(),
    incidents: z.array(
      z.strictObject({
        id: z.string(),
        state: z.enum(["firing", "resolved"]),
        subject: z.enum([
          "server",
          "sandbox",
          "target",
          "region",
          "pool",
          "sandbox_pool",
          "probe",
          "receiver",
        ]),
        region: z.string().nullable(),
        key: z.string().nullable(),
        sandbox_id: z.string().nullable(),
        server_id: z.string().nullable(),
        server_name: z.string().nullable(),
        status: z.enum(["idle", "occupied", "error", "unknown", "absent"]).nullable(),
        previous_status: z.enum(["idle", "occupied", "error", "unknown", "absent"]).nullable(),
        started_at: time,
        resolved_at: time.nullable(),
        resolved_reason: z.enum(["recovered", "gone", "silenced", "rule_removed"]).nullable(),
        benchmark: z.string().optional(),
        probe: z.string().optional(),
        receiver: z.string().optional(),
        flapping: z.literal(true).optional(),
        acknowledged_by: z.string().optional(),
        labels: z.record(z.string(), z.string()).optional(),
        url: z.url().optional(),
      }),
    ),
    truncated: z.int().nonnegative(),
    still_firing: z.int().positive().optional(),
    external_url: z.url().optional(),
    runbook_url: z.string().optional(),
    delayed_seconds: z.int().positive().optional(),
    report: z
      .strictObject({
        from: time,
        to: time,
        tz: z.string(),
        by: z.string(),
        region: z.string().optional(),
        key: z.string().optional(),
        notes: z.array(z.string()),
        total: reportFigures.nullable(),
        rows: z.array(reportFigures),
      })
      .optional(),
  }),
});
