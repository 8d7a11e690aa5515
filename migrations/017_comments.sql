-- Comments on all tables and columns, and the foreign keys to buckets that were missing.
--
-- Comments take no time. To check the stored rows against the new foreign keys, PostgreSQL reads the tables of what people
-- did, which stay small: seconds, also on ten million reports. The tables that grow with reports get no foreign keys.

-- Buckets are never deleted and their ids never change, so these keys cost one lookup when a person does something. They
-- need no indexes for deletes. The lock that they take on a bucket does not conflict with counting.
alter table bucket_bugs add foreign key (bucket_id) references buckets (id);
alter table unlinked_bugs add foreign key (bucket_id) references buckets (id);
alter table bug_comments add foreign key (bucket_id) references buckets (id);
alter table filings add foreign key (bucket_id) references buckets (id);
alter table notes add foreign key (bucket_id) references buckets (id);
alter table decisions add foreign key (bucket_id) references buckets (id);
alter table decisions add foreign key (other_id) references buckets (id);
alter table split_sources add foreign key (bucket_id) references buckets (id);

-- Types

comment on type occurrence is 'One crash as an event: when, and in which version. Rows compare column by column, so least() and greatest() find the oldest and the newest.';
comment on column occurrence.seen is 'Time of the crash by the report''s own Date if that was believed, else time of arrival.';
comment on column occurrence.version_key is 'Key that sorts as dpkg compares versions; empty: no version that dpkg can compare.';
comment on column occurrence.version is 'Version of the package; empty: the report names none.';

comment on type package_version is 'A package version with its sort key. Rows compare as dpkg compares versions.';
comment on column package_version.key is 'Key that sorts as dpkg compares versions.';
comment on column package_version.version is 'The version as reports write it.';

comment on type release_seen is 'A release with its sort key. Rows compare in the order of releases.';
comment on column release_seen.key is 'Key that sorts as releases follow each other.';
comment on column release_seen.release is 'Name of the release, such as Ubuntu 24.04.';

comment on type version_seen is 'A package version and the release in which it was seen. Rows compare by version, then by release; text settles ties, so the result does not depend on the order of arrival.';
comment on column version_seen.key is 'Key that sorts as dpkg compares versions.';
comment on column version_seen.release_key is 'Key that sorts as releases follow each other.';
comment on column version_seen.version is 'The version as reports write it.';
comment on column version_seen.release is 'Name of the release.';

comment on function note_change() is 'Adds the row of this transaction to changes, once.';

-- Reports

comment on table reports is 'One row per stored report, partitioned by month of arrival; retention drops whole partitions. No foreign key to buckets: every batch stores missing buckets before its reports, and a check would add a lookup and a row lock to each report.';
comment on column reports.id is 'UUID of version 7. Its time is received, to the millisecond, so the id alone leads to the partition.';
comment on column reports.received is 'When the report arrived.';
comment on column reports.occurred is 'The report''s own Date, read as UTC. Null: missing or unreadable.';
comment on column reports.day is 'UTC day on which the report counts: that of the crash if its Date was believed, else that of the arrival.';
comment on column reports.counted is 'False for a test machine, whose reports are stored but not counted.';
comment on column reports.system is 'Hash by which whoopsie identifies the machine; empty: none was sent.';
comment on column reports.system_key is 'The machine as a number: the first 8 bytes of the SHA-256 of system. Null: a machine without a hash.';
comment on column reports.bucket_id is 'Bucket of the report; see buckets.id. Splits and regrouping change it. Null: no grouping rule applied.';
comment on column reports.unbucketed is 'Why the report has no bucket; empty when it has one.';
comment on column reports.rule is 'Name of the grouping rule that chose the signature.';
comment on column reports.rules is 'Version of the grouping rules that were applied; lower than the program''s: due for regrouping.';
comment on column reports.problem_type is 'The field ProblemType, such as Crash.';
comment on column reports.title is 'One line that describes the report for people.';
comment on column reports.executable is 'Path of the program that crashed; empty: unknown.';
comment on column reports.package is 'Binary package; empty: unknown.';
comment on column reports.version is 'Version of the binary package; empty: unknown.';
comment on column reports.source_package is 'Source package; empty: unknown.';
comment on column reports.release is 'Distribution release, such as Ubuntu 24.04; empty: unknown.';
comment on column reports.architecture is 'Architecture of the machine.';
comment on column reports.package_architecture is 'Architecture of the package; that of the machine if the report names none.';
comment on column reports.address_signature is 'Signature of modules and offsets, of a native crash; empty: none.';
comment on column reports.proposed is 'Whether the package came from the proposed pocket.';
comment on column reports.complete is 'Whether the report has a stack, a traceback or the text that its rule reads.';
comment on column reports.body is 'All fields, each name and value after its length, compressed by S2. Stored outside the row and not compressed again.';

comment on table report_keys is 'One row per crash that can be recognised when it is sent again, partitioned by year of the crash. No foreign key to reports: an id is unique only together with its partition, and keys may outlive dropped reports.';
comment on column report_keys.key is '16 bytes: the time of the crash, then a hash of the fields that identify it. Keys of one time are neighbours in the index.';
comment on column report_keys.report_id is 'The report that was stored for this crash first.';

comment on table uncounted is 'Reports that are stored and not counted yet: one row per transaction that stored some. The round that counts them deletes the row. No foreign key: the ids are an array, and retention may drop a report first.';
comment on column uncounted.id is 'Random id, made by the instance that stored the reports.';
comment on column uncounted.stored is 'When the transaction began. Rows older than ten seconds are counted by any instance.';
comment on column uncounted.reports is 'Ids of the reports, up to 256.';

comment on table core_requests is 'Reports whose core dump a machine was asked for; no other core is accepted. No foreign key: an id of reports is unique only together with its partition.';
comment on column core_requests.report_id is 'The report.';
comment on column core_requests.system is 'The machine that was asked; empty: a machine without a hash.';
comment on column core_requests.requested is 'When it was asked.';
comment on column core_requests.received is 'When the core was on disk. Null: not yet.';

comment on table dropped_months is 'Months of arrival whose reports retention has dropped; their counts stay.';
comment on column dropped_months.month is 'First day of the month, UTC.';
comment on column dropped_months.reports is 'Number of reports that were dropped.';
comment on column dropped_months.dropped is 'When they were dropped.';

-- Buckets and counts

comment on table buckets is 'One row per signature. Stored with its first report; never deleted. The counts, first and last cover counted reports only. A bucket that was merged keeps its own counts. Package, title and the like are those of the report counted last.';
comment on column buckets.id is 'SHA-1 of the signature.';
comment on column buckets.head is 'The bucket that stands for the problem: its own id unless it was merged. No foreign key: merges, under the lock on counting, are the only writers after the first insert, and they read the head first.';
comment on column buckets.signature is 'Text that identifies reports of the same fault.';
comment on column buckets.rule is 'Name of the grouping rule that chose the signature.';
comment on column buckets.provisional is 'Whether the signature has addresses instead of function names.';
comment on column buckets.problem_type is 'The field ProblemType, such as Crash.';
comment on column buckets.title is 'One line that describes the problem.';
comment on column buckets.name is 'Name that a person gave the problem; empty: none.';
comment on column buckets.executable is 'Path of the program that crashed; empty: unknown.';
comment on column buckets.package is 'Binary package; empty: unknown.';
comment on column buckets.source_package is 'Source package; empty: unknown.';
comment on column buckets.reports is 'Number of counted reports.';
comment on column buckets.systems is 'Number of distinct machines that sent them.';
comment on column buckets.first_version is 'Lowest version seen. Null: no version that dpkg can compare.';
comment on column buckets.last_version is 'Highest version seen. Null: no version that dpkg can compare.';
comment on column buckets.first_release is 'Oldest release seen. Null: no report names one.';
comment on column buckets.last_release is 'Newest release seen. Null: no report names one.';
comment on column buckets.changed is 'Round (counting.round) that changed the row last; 0: not counted yet.';
comment on column buckets.shrunk is 'Round that moved reports out of the bucket last, after which rows of bucket_days may be missing; 0: none.';

comment on table bucket_releases is 'First and last occurrence of a bucket in each release. Written by rounds. As with all counts of buckets there is no foreign key: rounds count only stored reports, whose buckets exist, and a check for each row would prolong the lock on counting.';
comment on column bucket_releases.bucket_id is 'The bucket.';
comment on column bucket_releases.release is 'The release; empty: the reports name none.';
comment on column bucket_releases.first_seen is 'The oldest occurrence.';
comment on column bucket_releases.last_seen is 'The newest occurrence.';
comment on column bucket_releases.lowest_version is 'Lowest version. Null: no version that dpkg can compare.';
comment on column bucket_releases.highest_version is 'Highest version. Null: no version that dpkg can compare.';

comment on table bucket_versions is 'Reports of a bucket by release and package version. Written by rounds. No foreign key; see bucket_releases.';
comment on column bucket_versions.bucket_id is 'The bucket.';
comment on column bucket_versions.release is 'The release; empty: none named.';
comment on column bucket_versions.version is 'Version of the package; empty: none named.';
comment on column bucket_versions.version_key is 'Key that sorts as dpkg compares versions. Null: not a version that dpkg can compare.';
comment on column bucket_versions.reports is 'Number of counted reports.';
comment on column bucket_versions.systems is 'Number of distinct machines that sent them.';

comment on table bucket_systems is 'Machines of a bucket by release and package version; tells rounds which machines are new. No foreign key; see bucket_releases.';
comment on column bucket_systems.bucket_id is 'The bucket.';
comment on column bucket_systems.system is 'The machine, as in reports.system_key.';
comment on column bucket_systems.release is 'The release; empty: none named.';
comment on column bucket_systems.version is 'Version of the package; empty: none named.';
comment on column bucket_systems.reports is 'Number of counted reports.';

comment on table bucket_travellers is 'Machines that reported a bucket with one version from several releases. Subtracting them gives the distinct machines of a version without reading bucket_systems. No foreign key; see bucket_releases.';
comment on column bucket_travellers.bucket_id is 'The bucket.';
comment on column bucket_travellers.version is 'Version of the package.';
comment on column bucket_travellers.system is 'The machine, as in reports.system_key.';
comment on column bucket_travellers.extra is 'Number of releases beyond the first.';

comment on table bucket_days is 'Reports of a bucket by day and by what pages filter on. Written by rounds. No foreign key; see bucket_releases. No index on changed either: each update would then write to all indexes.';
comment on column bucket_days.bucket_id is 'The bucket.';
comment on column bucket_days.day is 'UTC day, as in reports.day.';
comment on column bucket_days.release is 'The release; empty: none named.';
comment on column bucket_days.version is 'Version of the package; empty: none named.';
comment on column bucket_days.architecture is 'Architecture of the machine.';
comment on column bucket_days.package_architecture is 'Architecture of the package.';
comment on column bucket_days.reports is 'Number of counted reports.';
comment on column bucket_days.proposed is 'Number of these whose package came from the proposed pocket.';
comment on column bucket_days.changed is 'Round that changed the row last.';

comment on table report_days is 'All counted reports by day and package, with a bucket or without. Written by rounds.';
comment on column report_days.package is 'Binary package; empty: unknown.';
comment on column report_days.day is 'UTC day, as in reports.day.';
comment on column report_days.release is 'The release; empty: none named.';
comment on column report_days.version is 'Version of the package; empty: none named.';
comment on column report_days.architecture is 'Architecture of the machine.';
comment on column report_days.problem_type is 'The field ProblemType.';
comment on column report_days.proposed is 'Whether the package came from the proposed pocket.';
comment on column report_days.reports is 'Number of counted reports.';

comment on table release_days is 'The sums of report_days over packages and versions. Written by rounds.';
comment on column release_days.day is 'UTC day, as in reports.day.';
comment on column release_days.release is 'The release; empty: none named.';
comment on column release_days.architecture is 'Architecture of the machine.';
comment on column release_days.problem_type is 'The field ProblemType.';
comment on column release_days.proposed is 'Whether the package came from the proposed pocket.';
comment on column release_days.reports is 'Number of counted reports.';

comment on table release_systems is 'Days on which a machine is active: from a day with a report to the 90th day, including both. Spans of one machine and release neither overlap nor touch. Written by rounds. No foreign key: releases lists names for filters and may lack the empty one.';
comment on column release_systems.release is 'The release; empty: none named.';
comment on column release_systems.system is 'The machine, as in reports.system_key.';
comment on column release_systems.from_day is 'First day of the span.';
comment on column release_systems.until_day is 'Last day of the span, included.';

comment on table release_active is 'Changes in the number of active machines. The number on a day is the sum of all changes up to that day. Follows from release_systems.';
comment on column release_active.release is 'The release; empty: none named.';
comment on column release_active.day is 'UTC day of the change.';
comment on column release_active.change is 'Machines that become active on that day minus those that stop being active.';

comment on table releases is 'Every release that a counted report named, for filters.';
comment on column releases.release is 'Name of the release, such as Ubuntu 24.04.';

comment on table package_versions is 'Versions of packages that counted reports came from, by release. Written by rounds.';
comment on column package_versions.package is 'Binary package.';
comment on column package_versions.release is 'The release; empty: none named.';
comment on column package_versions.version is 'The version.';
comment on column package_versions.version_key is 'Key that sorts as dpkg compares versions.';
comment on column package_versions.arrived is 'When the first report with the version arrived.';
comment on column package_versions.first_day is 'First UTC day with a counted report of the version.';

comment on table counting is 'The lock on counting, in one row. Rounds, merges, splits and all else that changes counts hold it, across all instances.';
comment on column counting.single is 'Always true: limits the table to one row.';
comment on column counting.round is 'Number of the last round. Rows that it changed carry it, so caches read only what is new.';

comment on table changes is 'One row per recent transaction that changed something that pages show, besides counts. Caches are valid while these rows stay the same. Triggers add rows; old ones are deleted after an hour.';
comment on column changes.id is 'Serial number.';
comment on column changes.xact is 'The transaction. Times and serial numbers alone would not do: transactions become visible in another order.';
comment on column changes.at is 'When the transaction began.';

-- Decisions, notes and regrouping

comment on table decisions is 'What was decided about problems: merged (bucket_id into other_id), renamed (bucket_id), or split (reports that meet a condition moved from bucket_id to other_id). Undone decisions stay, for the history.';
comment on column decisions.id is 'Serial number.';
comment on column decisions.kind is 'merged, renamed or split.';
comment on column decisions.cause is 'person; or mishap itself: symbolised (names of functions became known), regrouped (new rules), emptied (an undone split left no reports).';
comment on column decisions.bucket_id is 'The problem that was merged, renamed, or split.';
comment on column decisions.other_id is 'The problem merged into, or split off. Null for renamed.';
comment on column decisions.before is 'Name before a rename; empty: none.';
comment on column decisions.after is 'Name after a rename; empty: none.';
comment on column decisions.condition is 'Condition that the reports of a split meet. Null for other kinds.';
comment on column decisions.person is 'Account name; empty: mishap itself. No foreign key: accounts can be removed, the history stays.';
comment on column decisions.reason is 'Reason as a sentence; may be empty.';
comment on column decisions.at is 'When it was decided.';
comment on column decisions.undone_by is 'Account name of the person who undid it; empty: in force.';
comment on column decisions.undone_at is 'When it was undone. Null: in force.';
comment on column decisions.looked_at is 'Of a split or its undoing: number of stored reports examined so far.';
comment on column decisions.moved is 'Of a split or its undoing: number of stored reports moved so far.';
comment on column decisions.received is 'Of a split: arrival of the report examined last. Null: start with the oldest.';
comment on column decisions.report_id is 'Of a split: the report examined last. Null: start with the oldest. Not a reference: retention may drop the report.';
comment on column decisions.finished is 'False while stored reports remain to be examined.';

comment on table split_sources is 'The buckets whose reports the condition of a split is tested on, in rounds and for stored reports.';
comment on column split_sources.bucket_id is 'The bucket.';
comment on column split_sources.decision_id is 'The split.';

comment on table known_names is 'The bucket with function names that an address signature belongs to. Learnt from reports that have both; the first stays. No foreign keys: address_id may have no bucket, and both are written in rounds.';
comment on column known_names.address_id is 'SHA-1 of the address signature, which is the id of its provisional bucket.';
comment on column known_names.bucket_id is 'The bucket whose signature has the names.';
comment on column known_names.refused is 'True when a person undid the merge; it is not repeated.';
comment on column known_names.fresh is 'True until a round has looked for a provisional bucket to merge.';

comment on table regroup_runs is 'Runs that apply new grouping rules to stored reports; at most one is running.';
comment on column regroup_runs.id is 'Serial number.';
comment on column regroup_runs.rules is 'Version of the rules that are applied.';
comment on column regroup_runs.dry is 'Whether the run only counts what it would move.';
comment on column regroup_runs.person is 'Account name of the person who started it; empty: the command line.';
comment on column regroup_runs.state is 'running, done or stopped.';
comment on column regroup_runs.started is 'When it was started.';
comment on column regroup_runs.updated is 'When the row was changed last.';
comment on column regroup_runs.estimate is 'Approximate number of stored reports at the start.';
comment on column regroup_runs.looked_at is 'Number of reports examined so far.';
comment on column regroup_runs.moved is 'Number of reports moved so far or, of a dry run, that it would move.';
comment on column regroup_runs.received is 'Arrival of the report examined last. Null: start with the oldest.';
comment on column regroup_runs.report_id is 'The report examined last. Null: start with the oldest. Not a reference: retention may drop the report.';
comment on column regroup_runs.waiting is 'Whether the run waits because reports arrive faster than they are counted.';

comment on table regroup_moves is 'How many reports a run moves, or of a dry run would move, from one bucket to another. No foreign keys to buckets: an id may be empty, and the buckets of a dry run need not exist.';
comment on column regroup_moves.run_id is 'The run.';
comment on column regroup_moves.from_id is 'Bucket that the reports leave; empty: they had none.';
comment on column regroup_moves.to_id is 'Bucket that they move to; empty: none.';
comment on column regroup_moves.signature is 'Beginning of the signature of to_id.';
comment on column regroup_moves.is_new is 'Whether to_id did not exist before the run.';
comment on column regroup_moves.reports is 'Number of reports.';

comment on table notes is 'Notes that people wrote about problems; the texts are in note_texts.';
comment on column notes.id is 'Serial number.';
comment on column notes.bucket_id is 'Head of the problem at that time. A note is shown with every problem that the bucket is part of.';
comment on column notes.written is 'When it was first written.';
comment on column notes.person is 'Account name of its first author.';

comment on table note_texts is 'Every text that a note has had; the last one is current.';
comment on column note_texts.id is 'Serial number.';
comment on column note_texts.note_id is 'The note.';
comment on column note_texts.at is 'When this text was written.';
comment on column note_texts.person is 'Account name of its author.';
comment on column note_texts.text is 'The text; empty: the note was removed.';

-- Bugs

comment on table bugs is 'Bugs of the external tracker that a bucket has or had, and the bugs that these duplicate.';
comment on column bugs.number is 'Number in the tracker.';
comment on column bugs.title is 'Title; empty: not read yet.';
comment on column bugs.url is 'Address of its page in the tracker.';

comment on table bucket_bugs is 'Which bucket has which bug.';
comment on column bucket_bugs.bucket_id is 'The bucket.';
comment on column bucket_bugs.bug_number is 'The bug.';
comment on column bucket_bugs.how is 'filed (by mishap) or linked (by hand).';
comment on column bucket_bugs.person is 'Account name of the person who filed or linked it; empty: mishap itself.';
comment on column bucket_bugs.at is 'When it was filed or linked.';

comment on table unlinked_bugs is 'Links that a person removed, so that they can be restored and searches know these bugs.';
comment on column unlinked_bugs.bucket_id is 'The bucket.';
comment on column unlinked_bugs.bug_number is 'The bug.';
comment on column unlinked_bugs.how is 'As in bucket_bugs.';
comment on column unlinked_bugs.person is 'As in bucket_bugs.';
comment on column unlinked_bugs.at is 'As in bucket_bugs.';
comment on column unlinked_bugs.unlinked_by is 'Account name of the person who removed the link.';
comment on column unlinked_bugs.unlinked_at is 'When the link was removed.';

comment on table bug_states is 'What the tracker said about each bug when it was read last.';
comment on column bug_states.number is 'The bug.';
comment on column bug_states.information_type is 'The tracker''s information type, such as Public or Private; empty: not read yet.';
comment on column bug_states.private is 'Whether the bug is private.';
comment on column bug_states.hidden is 'Whether our account may not read the bug, or the bug is gone.';
comment on column bug_states.duplicate_of is 'The bug that this one duplicates. Null: none.';
comment on column bug_states.closed is 'Whether all its tasks on a distribution are complete, or all its tasks if there is none on a distribution. Of a duplicate: its own tasks.';
comment on column bug_states.tasks is 'Its tasks: an array of crash.BugTask.';
comment on column bug_states.fixes is 'Package versions that have the fix: an array of crash.BugFix.';
comment on column bug_states.read is 'When it was read last. Null: never.';
comment on column bug_states.next_read is 'When it is read next.';
comment on column bug_states.failures is 'Number of failed readings since the last successful one.';
comment on column bug_states.failure is 'Why the last reading failed; empty: it succeeded.';

comment on table bug_comments is 'Comments that mishap wrote in the tracker when a fixed bug was seen again: at most one per bug and version.';
comment on column bug_comments.bug_number is 'The bug.';
comment on column bug_comments.version is 'The version that the comment is about.';
comment on column bug_comments.bucket_id is 'The problem that was seen again.';
comment on column bug_comments.at is 'When sending began.';
comment on column bug_comments.outcome is 'sending, sent, refused, or unknown. In each case it is not sent again.';
comment on column bug_comments.words is 'Message of the tracker or the network; empty: none.';

comment on table bug_watch is 'How bugs in the tracker are followed, in one row.';
comment on column bug_watch.single is 'Always true: limits the table to one row.';
comment on column bug_watch.comment is 'Whether mishap comments in the tracker when a fixed bug is seen again.';
comment on column bug_watch.changes_until is 'Time up to which the tracker was asked for changed bugs. Null: never.';

comment on table bug_templates is 'Texts of bugs that administrators changed; the built-in text is in the program. No foreign keys: packages and types are patterns.';
comment on column bug_templates.package is 'Source package; empty: all.';
comment on column bug_templates.problem_type is 'The field ProblemType; empty: all.';
comment on column bug_templates.body is 'The template.';
comment on column bug_templates.person is 'Account name of the person who changed it last.';
comment on column bug_templates.changed is 'When it was changed last.';

-- Filing

comment on table filings is 'One intent per bucket, stored before the tracker is called. docs/filing.md draws the states. All times come from the clock of this database.';
comment on column filings.id is 'Serial number.';
comment on column filings.bucket_id is 'The bucket that the bug is for.';
comment on column filings.state is 'queued, filing (being sent), uncertain (outcome unknown), filed, refused, or abandoned.';
comment on column filings.person is 'Account name of the person who asked for it. No foreign key: accounts can be removed, the ledger stays.';
comment on column filings.target is 'What the bug is filed against, as a path of the tracker: /ubuntu/+source/bash.';
comment on column filings.title is 'Title of the bug.';
comment on column filings.description is 'Description of the bug.';
comment on column filings.tags is 'Tags of the bug.';
comment on column filings.marker is 'Line of the description that names the problem; searches find the bug by it.';
comment on column filings.edited is 'Whether a person edited the text.';
comment on column filings.information_type is 'Who can see the bug, in the tracker''s term; empty: the tracker''s default.';
comment on column filings.subscribe is 'Whether the person wants the tracker''s mail about the bug.';
comment on column filings.bug_number is 'The bug. Null unless state is filed.';
comment on column filings.problem is 'Stable code of the last failure; empty: none.';
comment on column filings.reason is 'The last failure as a sentence; empty: none.';
comment on column filings.attempts is 'How often the bug was sent, or may have been sent.';
comment on column filings.unit is 'The instance that is sending the bug or searching for it. Null: none. No foreign key: an instance is a random number under an advisory lock, not a row.';
comment on column filings.claimed is 'When an instance claimed the filing last. Null: never.';
comment on column filings.sent_from is 'No request left before this time; searches start here. Null: nothing was sent.';
comment on column filings.settles is 'Until then the tracker may still be working on a request, so searches wait. Null: nothing is unsettled.';
comment on column filings.unsettled is 'Whether it was abandoned with an unknown outcome. Asked for again, it is searched for first.';
comment on column filings.subscription is 'Subscribing the person to the filed bug: empty (not wanted), due, done, or failed.';
comment on column filings.created is 'When it was asked for last; the order of the queue.';
comment on column filings.updated is 'When the row was changed last.';
comment on column filings.not_before is 'When the next step is due.';

comment on table filing_writer is 'The lock on sending bugs, in one row: all instances together send one at a time. It is held while the next filing is chosen, never during a call.';
comment on column filing_writer.single is 'Always true: limits the table to one row.';
comment on column filing_writer.ended is 'When the last sending ended.';
comment on column filing_writer.rest is 'Pause after that for filings that were queued meanwhile.';

comment on table filing_attempts is 'Every call to the tracker for a filing, and the answer.';
comment on column filing_attempts.id is 'Serial number.';
comment on column filing_attempts.filing_id is 'The filing.';
comment on column filing_attempts.action is 'create, search or subscribe.';
comment on column filing_attempts.unit is 'The instance that made the call, as in filings.unit.';
comment on column filing_attempts.started is 'When the call began.';
comment on column filing_attempts.ended is 'When the answer came. Null: under way, or the instance died first.';
comment on column filing_attempts.outcome is 'Outcome in one word, such as created, refused or unknown; empty: none yet.';
comment on column filing_attempts.status is 'HTTP status of the answer; 0: none.';
comment on column filing_attempts.request_id is 'The tracker''s own id of a failure; empty: none.';
comment on column filing_attempts.words is 'Message of the tracker or the network, truncated; empty: none.';

comment on table oauth_credentials is 'The access token of each tracker and consumer key, shared by all instances. No foreign keys: trackers are part of the configuration.';
comment on column oauth_credentials.tracker_url is 'Address of the tracker''s API.';
comment on column oauth_credentials.consumer_key is 'OAuth consumer key.';
comment on column oauth_credentials.token is 'Public half of the access token.';
comment on column oauth_credentials.secret_sealed is 'Secret half, encrypted (db/seal.go); empty: deleted by a person.';
comment on column oauth_credentials.context is 'The restriction that the tracker put on the token; empty: none.';
comment on column oauth_credentials.person is 'Account name of the person who connected; empty: it came from the configuration of an instance.';
comment on column oauth_credentials.connected is 'When it was stored.';

comment on table oauth_health is 'Results of using each access token, including those in configuration files. No foreign key: tokens in files have no row in oauth_credentials.';
comment on column oauth_health.tracker_url is 'Address of the tracker''s API.';
comment on column oauth_health.consumer_key is 'OAuth consumer key.';
comment on column oauth_health.token is 'Public half of the access token.';
comment on column oauth_health.account is 'Name of the account in the tracker; empty: not asked yet.';
comment on column oauth_health.last_success is 'When a call last succeeded. Null: never.';
comment on column oauth_health.last_error is 'Message of the last failed call; empty: none.';
comment on column oauth_health.last_error_at is 'When a call last failed. Null: never.';
comment on column oauth_health.dead is 'Whether the tracker said that the token is invalid.';

comment on table archive_facts is 'What the tracker said about the archive of the distribution, and what it has yet to be asked. Pages add questions; one background job reads the answers.';
comment on column archive_facts.kind is 'source, binary, version, set or person; the meaning of key depends on it (crash.ArchiveKind).';
comment on column archive_facts.key is 'Name of what was asked, such as a source package.';
comment on column archive_facts.value is 'The answer. Null: the tracker knows no such thing or, while read is null, was not asked yet.';
comment on column archive_facts.read is 'When the answer was read. Null: never.';
comment on column archive_facts.asked is 'When a page or a request needed it last, to the day. Facts that were not needed for a month are deleted.';
comment on column archive_facts.next_read is 'When the tracker is asked next.';
comment on column archive_facts.failures is 'Number of failed readings since the last successful one.';
comment on column archive_facts.failure is 'Why the last reading failed; empty: it succeeded.';

-- People

comment on table users is 'Accounts.';
comment on column users.id is 'Serial number.';
comment on column users.name is 'Name for signing in, unique regardless of case.';
comment on column users.role is 'viewer, triager or admin.';
comment on column users.password_hash is 'Argon2id hash, as a PHC string.';
comment on column users.disabled is 'Whether the account may not sign in.';
comment on column users.created is 'When it was added.';
comment on column users.last_login is 'Last successful sign-in. Null: never.';
comment on column users.tracker_name is 'Name of the person''s account in the tracker; empty: unknown.';

comment on table sessions is 'Browser sessions, as the session library stores them.';
comment on column sessions.token is 'Hash of the token in the cookie.';
comment on column sessions.data is 'Encoded values of the session.';
comment on column sessions.expiry is 'When it expires; expired rows are deleted by a background task.';
comment on column sessions.user_id is 'Account that is signed in. Null: none.';

comment on table sign_in_failures is 'Failed sign-ins, counted by account, address and known browser, for all instances together. No foreign key: visitors choose the names.';
comment on column sign_in_failures.key is 'What is counted, such as name:ada or address:192.0.2.1.';
comment on column sign_in_failures.failures is 'Failures since counting began.';
comment on column sign_in_failures.last is 'Time of the last failure or, for limits that work as a queue, up to when the queue is filled.';

comment on table api_tokens is 'API tokens of accounts. The token itself is shown once and not stored.';
comment on column api_tokens.id is 'Serial number.';
comment on column api_tokens.user_id is 'The account.';
comment on column api_tokens.hash is 'SHA-256 of the token.';
comment on column api_tokens.name is 'Name that the person gave it.';
comment on column api_tokens.hint is 'Beginning of the token, to tell it from others.';
comment on column api_tokens.scopes is 'What it allows: read, file.';
comment on column api_tokens.created is 'When it was added.';
comment on column api_tokens.expires is 'When it expires.';
comment on column api_tokens.last_used is 'When it was used last, to the minute. Null: never.';
comment on column api_tokens.revoked is 'When it was revoked. Null: it was not.';

comment on table followed is 'What people follow.';
comment on column followed.user_id is 'The account.';
comment on column followed.kind is 'package, person or set.';
comment on column followed.name is 'Name of a binary or source package, of a person or team in the tracker, or of a package set.';
comment on column followed.since is 'When following began.';

comment on table follow_visits is 'When people looked at what they follow. Views less than half an hour apart are one visit.';
comment on column follow_visits.user_id is 'The account.';
comment on column follow_visits.seen is 'End of the previous visit; later problems are new. Null: nothing is new.';
comment on column follow_visits.last is 'Last view of the current visit.';

comment on table audit_events is 'Who did what. Rows are never deleted and hold no secrets. No foreign key: accounts can be removed, the record stays.';
comment on column audit_events.id is 'Serial number.';
comment on column audit_events.at is 'When it happened.';
comment on column audit_events.person is 'Account name; empty: mishap itself or the command line.';
comment on column audit_events.action is 'What was done, such as bug.create or tracker.connect.';
comment on column audit_events.subject is 'What it was done to: a bucket id, an account name, the address of a tracker.';
comment on column audit_events.detail is 'Further facts, depending on the action.';

comment on table applied_migrations is 'Migrations that were applied. Instances refuse a database whose rows differ from their own files.';
comment on column applied_migrations.version is 'Number of the file.';
comment on column applied_migrations.name is 'Name of the file.';
comment on column applied_migrations.checksum is 'SHA-256 of the file, in hexadecimal.';
comment on column applied_migrations.applied is 'When it was applied.';
