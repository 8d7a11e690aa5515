// Package stats draws conclusions from counts: rates with confidence intervals, trends, what stands out, the story of a
// package's versions, and the status of a problem release by release. All functions are pure; times are passed in.
package stats
