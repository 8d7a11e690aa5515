// Package watch reads changes from the tracker, and writes to bugs by itself. A [BugReader] reads the
// states of bugs. If administrators have switched that on, it comments on bugs whose problem came
// back, went quiet or got function names, and updates a section in their descriptions. An
// [ArchiveReader] reads facts about the archive of the distribution. Package tracker makes the calls
// and files bugs. This package contains neither pages nor SQL.
package watch
