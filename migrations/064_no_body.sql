-- Reports whose body is not stored have a quality of their own. Instant.
comment on column reports.quality is
	'Per cent of named functions; 1: none; 0: nothing; -1: no body; null: undecided.';
