-- Instant: it changes a description.
comment on column api_tokens.scopes is 'What it allows: read, file, upload.';
