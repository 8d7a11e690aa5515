// Package grouping determines the problem that a report belongs to. It parses stacks, tracebacks
// and messages, and applies apport's signature rules and rules of mishap's own. It explains which
// lines of which field a rule used, and derives titles and summaries. All functions are pure and
// limit the amount of text that they read.
package grouping
