// Package watch reads from the tracker what changes there. A [BugReader] reads the states of bugs
// and comments on bugs that came back. An [ArchiveReader] reads facts about the archive of the
// distribution. Package tracker makes the calls and files bugs. This package knows nothing of pages
// or SQL.
package watch
