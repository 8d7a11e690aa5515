// Package tracker is the way out of mishap: it files one bug for one bucket in the external
// tracker, which speaks Launchpad's protocol. [Client] makes single calls, signed with OAuth 1.0
// PLAINTEXT; [Credentials] knows the access token; [Filer] turns a click on Create into one bug,
// whatever happens to answers and instances. Package watch reads what changes in the tracker.
//
// It knows nothing of pages or of SQL: [Store] stores what must last.
//
// Everything that the tracker says is treated as hostile text: bounded, cleaned of control
// characters and of our own secrets, before it is stored, logged or shown.
package tracker
