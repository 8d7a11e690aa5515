// Package watch reads changes from the tracker. A [BugReader] reads the states of bugs, and
// comments on bugs whose problem came back or got function names. An [ArchiveReader] reads facts
// about the archive of the distribution. Package tracker makes the calls and files bugs. This
// package contains neither pages nor SQL.
package watch
