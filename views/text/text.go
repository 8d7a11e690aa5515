// Package text holds every sentence, label and word that pages show, one file per page, so that
// they can be read in one place and translated. A fixed text is a constant; a text with values is a
// function of these values, which knows the grammar. A text contains no markup: a sentence around a
// link is split where the link stands, with names that end in Before and After.
//
// One word per concept: problem, report, machine, release, bug.
package text

import (
	"strconv"
	"strings"

	"mishap/crash"
)

// Count formats a number with thousands separators: 41300 → "41,300".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "−", digits[1:]
	}
	head := len(digits) % 3
	if head == 0 {
		head = 3
	}
	var b strings.Builder
	b.WriteString(sign)
	b.WriteString(digits[:head])
	for rest := digits[head:]; rest != ""; rest = rest[3:] {
		b.WriteByte(',')
		b.WriteString(rest[:3])
	}
	return b.String()
}

// Counted formats a number with its noun: "1 report", "41,300 reports".
func Counted(n int64, one, many string) string { return Count(n) + " " + crash.Plural(n, one, many) }

// Reports returns "1 report" or "41,300 reports".
func Reports(n int64) string { return Counted(n, "report", "reports") }

// ReportsWord returns "report" or "reports".
func ReportsWord(n int64) string { return crash.Plural(n, "report", "reports") }

// MachinesWord returns "machine" or "machines".
func MachinesWord(n int64) string { return crash.Plural(n, "machine", "machines") }

// Problems returns "1 problem" or "72 problems".
func Problems(n int64) string { return Counted(n, "problem", "problems") }

// Machines returns "1 machine" or "1,902 machines".
func Machines(n int64) string { return Counted(n, "machine", "machines") }

// Texts that several pages share.
const (
	NeverSeen      = "never"
	UnknownValue   = "unknown"
	UnknownRelease = "unknown release"
	BlankSignature = "(blank signature)"
	Copy           = "Copy"
	AsTable        = "As table"
	AllColumns     = "All"
	NotGrouped     = "not grouped"
)

// CopyWhat labels a button that copies an identifier.
func CopyWhat(what string) string { return "Copy " + what }
