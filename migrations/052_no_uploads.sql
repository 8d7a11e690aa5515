-- Removes the scope upload of API tokens, which nothing needs any longer. Tokens that have no other scope are revoked, and
-- show none. Instant: tokens are few.

update api_tokens set revoked = now() where scopes = '{upload}' and revoked is null;
update api_tokens set scopes = array_remove(scopes, 'upload') where 'upload' = any (scopes);
comment on column api_tokens.scopes is 'What it allows: read, read-private, triage, file, admin.';
