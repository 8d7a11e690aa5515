// Package tracker is the way out of mishap: it files one bug for one bucket in the external tracker, which speaks
// Launchpad's protocol. [Client] makes single calls, signed with OAuth 1.0 PLAINTEXT; [Credentials] knows the access token;
// [Filer] takes a click on Create through to a bug, exactly once, whatever happens to answers, units and people.
//
// It knows nothing of pages or of SQL: what must be remembered goes through [Store].
//
// Everything that the tracker says is treated as hostile text: bounded, cleaned of control characters and of our own
// secrets, before it is stored, logged or shown.
package tracker
