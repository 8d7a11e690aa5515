-- Conditions of rules beyond the number of machines, and weights of similar problems that were learned.
alter table rules add column conditions jsonb not null default '{}';
comment on column rules.conditions is 'What else must hold, as rules.Conditions in Go; empty: nothing.';

create table similar_weights (
	single boolean primary key default true check (single),
	weights jsonb not null,
	learned timestamptz not null,
	merges bigint not null check (merges >= 0),
	others bigint not null check (others >= 0)
);
comment on table similar_weights is 'The weights by which problems are similar, in one row; no row: the built-in ones.';
comment on column similar_weights.single is 'Always true: limits the table to one row.';
comment on column similar_weights.weights is 'As similar.Weights in Go.';
comment on column similar_weights.learned is 'When they were learned.';
comment on column similar_weights.merges is 'Number of merges by people that they were learned from.';
comment on column similar_weights.others is 'Number of undone merges and of splits that they were learned from.';
