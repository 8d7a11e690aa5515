// Package tracker files bugs in the external tracker, which speaks Launchpad's protocol. [Client]
// makes single calls, signed with OAuth 1.0 PLAINTEXT; [Credentials] returns the access token;
// [Filer] turns a click on Create into exactly one bug, whatever happens to answers and instances.
// Package watch reads what changes in the tracker.
//
// It knows nothing of pages or of SQL: [Store] stores what must last.
//
// The package treats every text of the tracker as hostile. It bounds it, and removes control
// characters and our own secrets, before it is stored, logged or shown.
package tracker
