/**
 * The whole schema of the store, as SQL that runs on SQLite and PostgreSQL. It is the baseline of version 1:
 * once published it stays as it is, and each later version adds a migration, which imports no live code.
 *
 * Conventions: `_ms` are milliseconds, `_at_ms` are UTC milliseconds since 1970, flags are 0 or 1, statuses and other words are
 * text. A column holds JSON only where nothing filters by its content, and says so.
 */

/** Differences between the SQL of the databases. */
export interface SchemaDialect {
  /** The type of a key that the database numbers itself. */
  readonly identity: string;
  /** The type of large whole numbers. */
  readonly bigint: string;
  /** The type of numbers with a fraction. */
  readonly double: string;
  /** The type of texts: compared by their bytes, whatever the language of the database is. */
  readonly text: string;
  /** Ends the definition of a table. */
  readonly table: string;
  /** Ends the definition of a table that is stored in the order of its primary key, if the database can do that. */
  readonly clustered: string;
}

/** The statements that lead from one version of the schema to the next. */
export type Migration = (dialect: SchemaDialect) => readonly string[];

/** The statements that make an empty store, in order. `<name>` is a word of the dialect. */
const statements: readonly string[] = [
  // What targets show, as it was last observed.

  // One row. A commit takes the numbers of what it adds from here: their order is the order of the commits.
  `create table commit_sequence (
    value <bigint> not null
  )<table>`,
  `insert into commit_sequence (value) values (0)`,

  // One key in one region.
  `create table targets (
    id <identity>,
    region <text> not null,
    key <text> not null,
    -- Polls ended, whatever their outcome, and the time between them: the clock of rules on targets.
    attempted_polls <bigint> not null,
    attempted_ms <double> not null,
    -- Polls accepted, and the time between consecutive ones: the clock of rules on servers.
    observed_polls <bigint> not null,
    observed_ms <double> not null,
    failures_in_a_row <bigint> not null,
    last_failure <text>,
    -- Of the response of the last poll if it failed. Null: there was none.
    last_status integer,
    -- When the first of the failures in a row ended.
    failing_since_at_ms <bigint>,
    last_poll_at_ms <bigint>,
    last_success_at_ms <bigint>,
    -- Whether the last poll was accepted and complete: only then is the time after it observed.
    last_complete integer not null,
    -- How many there were when it was last observed, but for those that are gone.
    servers <bigint> not null,
    -- The time that its history covers: from when the first poll ended to when the last one did. It never goes back.
    recorded_from_ms <bigint>,
    recorded_to_ms <bigint>,
    -- The end of the last hour that is in rollups. Null: none is.
    rolled_up_to_ms <bigint>,
    unique (region, key)
  )<table>`,

  // Sandboxes as they were last observed, also those that are gone, for as long as changes refer to them.
  `create table sandboxes (
    id <identity>,
    target_id <bigint> not null references targets (id),
    sandbox_id <text> not null,
    benchmark <text>,
    -- When the service created it. Null: that could not be read.
    created_at_ms <bigint>,
    -- Its own, or before it stated one the worst that its servers state.
    status <text> not null,
    -- 'unknown': it stated a status since it appeared, and does not now. Null: it never did.
    stated_status <text>,
    since_at_ms <bigint> not null,
    -- The same moment on the target's observed clock.
    since_observed_ms <double> not null,
    -- Whether the status began between two complete polls, so that its dwell time can be known.
    since_witnessed integer not null,
    -- Complete listings in a row that lacked it.
    missing integer not null,
    -- When it was found to be gone, as in changes. Null: it is not.
    gone_at_ms <bigint>,
    unique (target_id, sandbox_id)
  )<table>`,
  `create index sandboxes_gone on sandboxes (gone_at_ms) where gone_at_ms is not null`,

  // The same of servers.
  `create table servers (
    id <identity>,
    target_id <bigint> not null references targets (id),
    sandbox_id <text> not null,
    server_id <text> not null,
    server_name <text>,
    benchmark <text>,
    -- JSON: an array of strings. Null: none.
    tags <text>,
    -- Its own, or before it stated one that of its sandbox.
    status <text> not null,
    -- Whether it stated a status since it appeared.
    has_stated integer not null,
    since_at_ms <bigint> not null,
    since_observed_ms <double> not null,
    since_witnessed integer not null,
    missing integer not null,
    gone_at_ms <bigint>,
    unique (target_id, sandbox_id, server_id)
  )<table>`,
  `create index servers_by_id on servers (server_id)`,
  `create index servers_gone on servers (gone_at_ms) where gone_at_ms is not null`,

  // What happened, and when it was not observed.

  // The attributes by which servers and sandboxes are counted. Absent ones are empty.
  `create table value_sets (
    id <identity>,
    name <text> not null,
    benchmark <text> not null,
    -- JSON: an array of strings.
    tags <text> not null,
    -- No change that names it is more than a day later.
    used_at_ms <bigint> not null,
    unique (name, benchmark, tags)
  )<table>`,
  `create index value_sets_by_use on value_sets (used_at_ms)`,

  // A sandbox or a server appeared, changed status or disappeared; or, with \`observation\`, it was missing from a
  // complete listing, observed again as it was, or has other attributes.
  `create table changes (
    seq <bigint> primary key,
    target_id <bigint> not null references targets (id),
    -- It never goes back within a target.
    at_ms <bigint> not null,
    -- One of these two is null.
    server <bigint> references servers (id),
    sandbox <bigint> references sandboxes (id),
    from_status <text> not null,
    to_status <text> not null,
    -- How long it was observed in from_status. Null: that is not known.
    dwell_ms <bigint>,
    -- 'missing', 'seen' or 'updated'. Null: a change of status.
    observation <text>,
    -- Whether the complete listing before lacked it.
    was_missing integer not null,
    -- In value_sets: its attributes after the change, or the last ones. No reference: it would need an index of all changes.
    value_set <bigint> not null,
    -- Those before, where they differ.
    previous_set <bigint>,
    check ((server is null) <> (sandbox is null))
  )<table>`,
  `create index changes_by_time on changes (at_ms)`,
  `create index changes_of_target on changes (target_id, at_ms)`,
  `create index changes_of_server on changes (server, at_ms, seq) where server is not null`,
  `create index changes_of_sandbox on changes (sandbox, at_ms, seq) where sandbox is not null`,

  // Time in which a target was not observed. The gaps of a target never overlap.
  `create table gaps (
    target_id <bigint> not null references targets (id),
    from_at_ms <bigint> not null,
    -- Null: it is not over.
    to_at_ms <bigint>,
    -- Why polls observe nothing, 'partial', 'not_running' or 'late'.
    reason <text> not null,
    primary key (target_id, from_at_ms)
  )<clustered>`,
  `create index gaps_by_end on gaps (to_at_ms)`,
  `create index gaps_open on gaps (target_id) where to_at_ms is null`,

  // What is rolled up from changes and gaps.

  // The names, benchmarks and tags that rollups have. The empty one stands for all servers, or for those without.
  `create table counted_values (
    id <identity>,
    value <text> not null unique
  )<table>`,

  // How the servers or sandboxes of one value spent an hour or a day of UTC, in server milliseconds: two servers for a second
  // are 2,000.
  `create table rollups (
    -- 'server', 'server_name', 'benchmark', 'tag', 'sandbox' or 'sandbox_benchmark'.
    counted <text> not null,
    -- '1h' or '1d'; '15m' where a time zone needs quarters of an hour.
    resolution <text> not null,
    start_at_ms <bigint> not null,
    target_id <bigint> not null references targets (id),
    value_id <bigint> not null references counted_values (id),
    -- Of the target: how much of the time is recorded, and how much of that is unobserved.
    recorded_ms <bigint> not null,
    gap_ms <bigint> not null,
    idle_ms <bigint> not null, occupied_ms <bigint> not null,
    error_ms <bigint> not null, unknown_ms <bigint> not null,
    unobserved_ms <bigint> not null,
    -- For how long there were some, but none of them idle.
    exhausted_ms <bigint> not null,
    -- The most at a time, while it was observed. Null: none of it was.
    occupied_peak integer,
    peak integer,
    -- How many there are when it ends.
    idle integer not null, occupied integer not null, error integer not null, unknown integer not null,
    missing integer not null,
    -- JSON: an array of how many dwell times in occupied ended, by how long they were, and last their sum. Null: none.
    dwells <text>,
    primary key (counted, resolution, start_at_ms, target_id, value_id)
  )<clustered>`,
  `create index rollups_of_target on rollups (target_id, resolution, start_at_ms) where counted = 'server'`,

  // What was deleted because it was kept for long enough: 'changes', '15m', '1h' or '1d', up to a moment.
  // Quarters count as deleted where they were not stored.
  `create table deleted_history (
    what <text> primary key,
    before_ms <bigint> not null
  )<clustered>`,

  // Incidents, and what people did to them.

  `create table incidents (
    id <text> primary key,
    -- Counts up each time the incident is written. Those written together share one.
    revision <bigint> not null,
    rule <text> not null,
    -- The rule's condition when the incident opened: a changed rule does not own it any more.
    rule_fingerprint <text> not null,
    severity <text> not null,
    -- 'server', 'sandbox', 'target', 'region', 'pool', 'probe' or 'receiver'.
    subject <text> not null,
    target_id <bigint> references targets (id),
    sandbox_id <text>,
    server_id <text>,
    server_name <text>,
    -- Of a sandbox.
    benchmark <text>,
    -- Of a region, a pool and a probe; the others have a target.
    region <text>,
    key <text>,
    probe <text>,
    receiver <text>,
    status <text>,
    previous_status <text>,
    -- 'pending', 'firing' or 'resolved'.
    phase <text> not null,
    -- Readings of the subject's clock.
    held_since_ms <double> not null,
    held_since_polls <bigint> not null,
    clear_since_ms <double>,
    -- Null while a silence or another incident keeps it from being notified.
    notified_at_clock_ms <double>,
    flapping integer not null,
    -- The firing incident because of which receivers are not notified of this one.
    inhibited_by <text>,
    started_at_ms <bigint> not null,
    fired_at_ms <bigint>,
    resolved_at_ms <bigint>,
    resolved_reason <text>
  )<table>`,
  `create index incidents_by_revision on incidents (revision, id)`,
  `create index incidents_open on incidents (target_id) where phase <> 'resolved'`,
  `create index incidents_open_untargeted on incidents (subject) where target_id is null and phase <> 'resolved'`,
  `create index incidents_by_time on incidents (started_at_ms, id)`,
  `create index incidents_resolved on incidents (resolved_at_ms) where phase = 'resolved'`,
  `create index incidents_of_server on incidents (server_id) where server_id is not null`,
  `create index incidents_of_sandbox on incidents (sandbox_id) where sandbox_id is not null`,
  `create index incidents_of_receiver on incidents (receiver, started_at_ms) where receiver is not null`,

  // The receivers that were notified that an incident fires, or are owed its end. They are only added to.
  `create table incident_receivers (
    incident_id <text> not null references incidents (id) on delete cascade,
    receiver <text> not null,
    -- 0: it was not notified that this incident fires, but has an alert that stayed open during a silence.
    notified integer not null,
    primary key (incident_id, receiver)
  )<clustered>`,

  `create table acknowledgements (
    incident_id <text> primary key,
    author <text> not null,
    note <text>,
    at_ms <bigint> not null,
    -- Null: it lasts until the incident resolves. Moved to the moment at which somebody withdrew it.
    ends_at_ms <bigint>,
    -- Who withdrew it. Null: nobody.
    ended_by <text>
  )<clustered>`,

  // What people did to incidents elsewhere that is no acknowledgement, in words.
  `create table incident_notes (
    incident_id <text> not null references incidents (id) on delete cascade,
    at_ms <bigint> not null,
    author <text> not null,
    note <text> not null,
    primary key (incident_id, at_ms, author, note)
  )<clustered>`,

  // The events that receivers sent back and that were handled, so that none is handled twice.
  `create table received_events (
    receiver <text> not null,
    event_id <text> not null,
    -- The id of the receiver's own incident.
    remote_id <text> not null,
    -- What sandwatch calls it. Null: the event does not say.
    alert <text>,
    at_ms <bigint> not null,
    primary key (receiver, event_id)
  )<clustered>`,
  `create index received_events_of_incident on received_events (receiver, remote_id, at_ms)`,

  // What keeps incidents from being notified, and what rules remember.

  `create table silences (
    id <text> primary key,
    -- JSON: an object of lists of patterns, which are matched in memory only.
    match <text> not null,
    author <text> not null,
    reason <text> not null,
    created_at_ms <bigint> not null,
    starts_at_ms <bigint> not null,
    -- Moved when somebody ends, shortens or prolongs it.
    ends_at_ms <bigint> not null,
    -- Who moved its end last, and when. Null: nobody.
    changed_by <text>,
    changed_at_ms <bigint>
  )<clustered>`,
  `create index silences_by_end on silences (ends_at_ms)`,

  // When the condition of a rule that limits flapping recently held for servers, sandboxes and targets.
  `create table flap_records (
    target_id <bigint> not null references targets (id),
    rule <text> not null,
    rule_fingerprint <text> not null,
    -- 'server', 'sandbox' or 'target'; ids that it does not have are empty.
    subject <text> not null,
    sandbox_id <text> not null,
    server_id <text> not null,
    server_name <text>,
    -- JSON: an array of readings of the target's observed clock.
    entered <text> not null,
    primary key (target_id, rule, sandbox_id, server_id)
  )<clustered>`,

  // The same for regions. JSON: an array of UTC milliseconds.
  `create table region_flap_records (
    region <text> not null,
    rule <text> not null,
    rule_fingerprint <text> not null,
    entered <text> not null,
    primary key (region, rule)
  )<clustered>`,

  // How long the pools of a rule were observed, while any of its incidents is open.
  `create table pool_clocks (
    rule <text> not null,
    -- Empty: the rule's pools are not distinguished by it.
    region <text> not null,
    key <text> not null,
    ms <double> not null,
    primary key (rule, region, key)
  )<clustered>`,

  // What receivers are notified of.

  // Notifications to one receiver.
  `create table notifications (
    -- The order in which they are sent.
    seq <identity>,
    id <text> not null unique,
    receiver <text> not null,
    -- 'pending', 'delivered', 'dead' or 'discarded'.
    state <text> not null,
    created_at_ms <bigint> not null,
    caused_at_ms <bigint> not null,
    attempts <bigint> not null,
    -- This and the next by the delivery's own clock, which runs evenly.
    next_attempt_at_ms <bigint> not null,
    give_up_at_ms <bigint> not null,
    -- The latest earlier notification, still pending, to the same receiver about the same subject.
    waits_for <bigint> references notifications (seq),
    last_reason <text>,
    settled_at_ms <bigint>,
    -- JSON: the recipients that have it or refused it for good, where others do not yet.
    taken_by <text>,
    -- JSON: the notification.
    body <text> not null
  )<table>`,
  `create index notifications_ready on notifications (receiver, next_attempt_at_ms, seq)
    where state = 'pending' and waits_for is null`,
  `create index notifications_waiting on notifications (waits_for) where waits_for is not null`,
  `create index notifications_pending on notifications (receiver, caused_at_ms) where state = 'pending'`,
  `create index notifications_dead on notifications (receiver) where state = 'dead'`,
  `create index notifications_done on notifications (settled_at_ms) where state in ('delivered', 'discarded')`,
  `create index notifications_dead_since on notifications (settled_at_ms) where state = 'dead'`,

  // What receivers are notified of, each about one incident: written together with the incident.
  `create table outbox_items (
    seq <identity>,
    receiver <text> not null,
    incident_id <text> not null,
    -- A digest of the receiver and the subject: items with the same one keep their order.
    subject <text> not null,
    type <text> not null,
    -- JSON: the rest of the item.
    body <text> not null,
    caused_at_ms <bigint> not null,
    -- Null until it is part of a notification.
    notification_seq <bigint> references notifications (seq)
  )<table>`,
  `create index outbox_items_open on outbox_items (receiver, seq, caused_at_ms, notification_seq) where notification_seq is null`,
  `create index outbox_items_of_notification on outbox_items (notification_seq)
    where notification_seq is not null`,
  `create index outbox_items_of_subject on outbox_items (subject)`,
  `create index outbox_items_of_incident on outbox_items (incident_id)`,

  // The first and the last ten attempts to deliver a notification.
  `create table delivery_attempts (
    id <identity>,
    notification_seq <bigint> not null references notifications (seq),
    at_ms <bigint> not null,
    -- Null: it was delivered.
    reason <text>,
    detail <text>
  )<table>`,
  `create index attempts_of_notification on delivery_attempts (notification_seq)`,

  // The configured reports. Written together with the notifications of a report that is due.
  `create table scheduled_reports (
    name <text> not null primary key,
    -- Its cron expression and its time zone: with others it is like a new one.
    schedule <text> not null,
    -- What was due until then was sent, or was due before it was configured.
    done_until_ms <bigint> not null
  )<clustered>`,

  // When a receiver was last notified of a group.
  `create table group_times (
    receiver <text> not null,
    group_name <text> not null,
    notified_at_ms <bigint> not null,
    primary key (receiver, group_name)
  )<clustered>`,
  `create index group_times_by_time on group_times (receiver, notified_at_ms)`,

  // The messages that a receiver sent about the groups of a rule, while any incident of them fires.
  `create table message_threads (
    receiver <text> not null,
    rule <text> not null,
    group_name <text> not null,
    -- JSON: what the receiver needs to find the message again.
    message <text> not null,
    at_ms <bigint> not null,
    primary key (receiver, rule, group_name)
  )<clustered>`,

  // Probes, and what deviates from the interface.

  // A probe in one region with one key.
  `create table probes (
    id <identity>,
    probe <text> not null,
    region <text> not null,
    key <text> not null,
    attempted_runs <bigint> not null,
    attempted_ms <double> not null,
    failures_in_a_row <bigint> not null,
    last_success_at_ms <bigint>,
    unique (probe, region, key)
  )<table>`,

  // Its latest runs.
  `create table probe_results (
    probe_id <bigint> not null references probes (id),
    run <bigint> not null,
    at_ms <bigint> not null,
    -- Null: it succeeded.
    reason <text>,
    detail <text>,
    -- Null: nothing was sent.
    duration_ms <double>,
    primary key (probe_id, run)
  )<clustered>`,

  `create table probe_flap_records (
    probe_id <bigint> not null references probes (id),
    rule <text> not null,
    rule_fingerprint <text> not null,
    -- JSON: an array of readings of the probe's clock.
    entered <text> not null,
    primary key (probe_id, rule)
  )<clustered>`,

  // How responses of the service differ from its interface.
  `create table drift (
    operation <text> not null,
    region <text> not null,
    field <text> not null,
    problem <text> not null,
    -- A new word of an enumeration, each of which is a row; else empty.
    word <text> not null,
    example <text>,
    count <bigint> not null,
    first_seen_at_ms <bigint> not null,
    last_seen_at_ms <bigint> not null,
    primary key (operation, region, field, problem, word)
  )<clustered>`,
];

/** How an empty database becomes version 1, and so on: their number is the present version. Once published, they stay. */
export const migrations: readonly Migration[] = [
  (dialect) =>
    statements.map((statement) =>
      Object.entries(dialect).reduce(
        (text, [name, word]) => text.replaceAll(`<${name}>`, String(word)),
        statement,
      ),
    ),
];
