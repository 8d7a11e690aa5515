// Package stats draws conclusions from counts: rates with confidence intervals, trends, conspicuous
// traits, the history of a package's versions, and the status of a problem in each release. All
// functions are pure; callers pass in the time.
package stats
