package text

import "mishap/crash/audit"

// Texts of the audit log.
const (
	AuditHeading = "Audit log"
	AuditMeans   = "Who changed what, who was refused, and who viewed private data. Nobody can change these records here."
	AuditWho     = "Who"
	AuditAction  = "Action"
	AuditObject  = "Object"
	AuditAddress = "Address"
	AuditResult  = "Result"
	AuditFrom    = "From day"
	AuditTo      = "To day"
	AuditWhen    = "When"
	AuditAny     = "any"
	AuditFilter  = "Show"
	AuditAll     = "Show all"
	AuditNone    = "No record matches."
	AuditOlder   = "Older"
	AuditNewest  = "Newest"
	AuditExport  = "JSON lines"
	AuditDetails = "Details"
	AuditNothing = "nothing"
	AuditDone    = "done"
	AuditRefused = "refused"
	AuditRequest = "Request"
)

// AuditActor says who has acted.
func AuditActor(r audit.Record) string {
	switch r.Kind {
	case audit.Token:
		return r.Person + ", token " + r.Via
	case audit.Rule:
		return "rule " + r.Via
	case audit.Job:
		switch {
		case r.Person != "":
			return r.Person + ", by mishap"
		case r.Via != "":
			return "mishap, task " + r.Via
		}
		return "mishap"
	case audit.Command:
		return r.Via + ", command line"
	case audit.Visitor:
		return "visitor"
	case audit.Person, audit.Unknown:
	}
	if r.Person == "" {
		return "mishap or the command line"
	}
	return r.Person
}
