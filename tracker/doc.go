// Package tracker files bugs in the external tracker, which speaks Launchpad's protocol. [Client]
// makes single calls, signed with OAuth 1.0 PLAINTEXT. [Credentials] returns the access token.
// [Filer] turns a click on Create into exactly one bug, even if answers are lost or instances die.
// Package watch reads changes from the tracker.
//
// It contains neither pages nor SQL: [Store] stores everything that must last.
//
// The package treats every text of the tracker as hostile. It limits the length and removes control
// characters and our own secrets before it stores, logs or shows a text.
package tracker
