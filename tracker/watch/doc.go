// Package watch reads from the tracker what changes there: [Watcher] the states of bugs,
// [Archivist] facts about the distribution's archive. It also comments on bugs whose fix did not
// help. Package tracker makes the calls and files bugs; this package knows nothing of pages or SQL.
package watch
