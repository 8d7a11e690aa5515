-- A report is complete when it holds any text from which a person can tell what happened. Until now only some fields counted:
-- not a panic in StdErr, say. What the rule read is known from its name. One pass over reports: about ten seconds for ten
-- million, since few rows change.
update reports set complete = true
    where not complete and rule in ('assertion', 'hang', 'java', 'go-panic', 'rust-panic', 'compiler', 'snap', 'recoverable', 'python', 'stacktrace', 'stacktrace-names', 'stacktrace-partial');
