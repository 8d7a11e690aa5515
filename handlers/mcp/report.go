package mcp

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/handlers/web"
)

var oneReport = definition{
	name: "report", title: "One report",
	description: "One crash report with the fields that the caller may read. Without fields it has the beginning of " +
		"each, the most useful ones first; name fields to get more of them, and one field with from to read it in parts. " +
		"Needs the right to read reports; private fields need more.",
	access: reading,
	full:   limits{items: 80, text: 7500, line: 200},
	bounds: func(in map[string]*jsonschema.Schema) {
		longest(in["report"], maxReference)
		most := maxFields
		in["fields"].MaxItems = &most
		longest(in["fields"].Items, maxName)
		between(in["from"], 0, maxFrom, 0)
	},
}

const (
	maxFields = 20
	maxFrom   = 1 << 30 // characters
	// briefField is the number of characters of a field that was not asked for.
	briefField = 1200
)

type reportQuestion struct {
	Report string   `json:"report" jsonschema:"id of the report, or the address of its page"`
	Fields []string `json:"fields,omitempty" jsonschema:"names of fields, such as Stacktrace; empty: all, shortened"`
	From   int      `json:"from,omitempty" jsonschema:"with one field: the character at which to begin"`
}

type field struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Length int    `json:"length" jsonschema:"characters of the whole field"`
	Next   int    `json:"next,omitempty" jsonschema:"from which to go on reading"`
}

type wholeReport struct {
	answer
	Report   string `json:"report" jsonschema:"id"`
	Link     string `json:"link"`
	Problem  string `json:"problem,omitempty" jsonschema:"id of its problem; missing: it is in none"`
	Problems string `json:"problem_link,omitempty"`
	Arrived  string `json:"arrived"`
	Occurred string `json:"occurred,omitempty"`
	InFull   bool   `json:"stored_in_full"`
	Hidden   int    `json:"hidden_fields" jsonschema:"number of fields that the caller may not read"`

	Untrusted struct {
		Machine string   `json:"machine,omitempty"`
		Fields  []field  `json:"fields"`
		Others  []string `json:"other_fields,omitempty" jsonschema:"names of fields that are not in the answer"`
		Hidden  []string `json:"hidden,omitempty" jsonschema:"names of fields that the caller may not read"`
	} `json:"untrusted"`
}

// firstFields are the fields that help most, in this order. Others follow by name.
var firstFields = []string{"ProblemType", "Title", "Package", "SourcePackage", "DistroRelease", "Architecture", "Date",
	"ExecutablePath", "Signal", "SignalName", "Traceback", "StacktraceTop", "Stacktrace", "ErrorMessage", "OopsText",
	"AssertionMessage", "SegvReason", "SegvAnalysis", "Disassembly", "Registers", "DuplicateSignature",
	"StacktraceAddressSignature", "Uname", "ThreadStacktrace"}

// readReport returns a report for people who may read reports, and records that. Its class is the highest of the fields
// that they may read.
func (s *Server) readReport(r *http.Request, text string) (crash.StoredReport, privacy.Class, error) {
	if _, err := admit(reading, r); err != nil {
		return crash.StoredReport{}, 0, err
	}
	id, err := crash.ParseOopsID(strings.ToLower(reference(text, "/oops/")))
	if err != nil {
		return crash.StoredReport{}, 0, err
	}
	report, err := s.Store.Report(r.Context(), id)
	if err != nil {
		return report, 0, err
	}
	return report, web.Readable(r, report.SourcePackage), s.web.AuditView(r, "read.report", id.String())
}

func (s *Server) report(r *http.Request, in reportQuestion) (func(*pen) wholeReport, error) {
	report, _, err := s.readReport(r, in.Report)
	if err != nil {
		return nil, err
	}
	u := web.CurrentUser(r)
	fields, hidden := s.web.Config.Privacy.Visible(u, report.Fields, report.SourcePackage)
	for _, name := range in.Fields {
		if _, ok := fields[name]; !ok {
			return nil, crash.Errorf(crash.NotFound, "unknown_field", "The report has no field %.100q that you may read.", name)
		}
	}
	if in.From > 0 && len(in.Fields) != 1 {
		return nil, crash.Errorf(crash.Invalid, "bad_from", "With from, name one field.")
	}
	names := in.Fields
	if len(names) == 0 {
		names = slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
			return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a, b))
		})
	}
	machine := u.VisibleSystem(report.System, report.SourcePackage)
	return func(p *pen) wholeReport {
		out := wholeReport{Report: report.ID.String(), Link: s.reportLink(report.ID), Arrived: stamp(report.ID.Received()),
			Occurred: stamp(report.Occurred), InFull: !report.TypedOnly, Hidden: len(hidden)}
		if report.Bucket != nil {
			out.Problem, out.Problems = report.Bucket.String(), s.problemLink(*report.Bucket)
		}
		out.Untrusted.Machine = p.line(string(machine))
		p.fields(&out, names, fields, in)
		for _, name := range shown(p, hidden, "names of hidden fields") {
			out.Untrusted.Hidden = append(out.Untrusted.Hidden, p.line(name))
		}
		out.answer = p.answer("Name fields to get more of them; with one field, from continues at its next.")
		return out
	}, nil
}

func rankOf(name string) int {
	if i := slices.Index(firstFields, name); i >= 0 {
		return i
	}
	return len(firstFields)
}

// fields adds fields as long as there is room for their texts, and the names of the others.
func (p *pen) fields(out *wholeReport, names []string, fields crash.Fields, in reportQuestion) {
	room, each := p.limits.text, min(briefField, p.limits.text)
	if len(in.Fields) > 0 {
		each = p.limits.text / len(in.Fields)
	}
	u := &out.Untrusted
	u.Fields = []field{}
	left := 0
	for _, name := range names {
		text := visible(fields[name])
		length := utf8.RuneCountInString(text)
		begin := min(in.From, length)
		whole := text[len(crash.Truncate(text, begin)):]
		part := crash.Truncate(whole, min(each, max(room, 0)))
		if part == "" && whole != "" {
			if left++; len(u.Others) < p.items {
				u.Others = append(u.Others, p.line(name))
			}
			continue
		}
		n := utf8.RuneCountInString(part)
		room -= n + utf8.RuneCountInString(name)
		f := field{Name: p.line(name), Text: part, Length: length}
		if len(part) < len(whole) {
			f.Next = begin + n
			p.leave("parts of fields")
		}
		u.Fields = append(u.Fields, f)
	}
	if left > 0 {
		p.leave(crash.Counted(int64(left), "field", "fields"))
	}
}
