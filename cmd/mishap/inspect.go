package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/intake"
)

func (p *program) inspectCommand() *cobra.Command {
	var as inspectOutput
	cmd := &cobra.Command{
		Use:   "inspect FILE.crash...",
		Short: "Shows what would be stored of crash report files",
		Long: `Reads apport's report files and shows what mishap would store: the problem of each report, and the
package, version and release that it would count for. It uses no database.

With --json it prints one JSON object per file and line, with the members file, problem_type,
signature, rule, address_signature, title, package, version, source_package, release and
architecture; null stands for a missing value. The member dropped_fields lists secret fields, which would not be
stored. For a file that cannot be read, or that would be
refused, the members are file and refused, which is the reason. The exit status is then 1.

With --why it also shows which lines of the report the grouping rule used and which it left out, each
with the reason (with --json: the member why).`,
		Example: `  mishap inspect /var/crash/_usr_bin_foo.1000.crash
  mishap inspect --why /var/crash/linux-image-6.8.0-41-generic.3f1b77aa.crash
  mishap inspect --json /var/crash/*.crash | jq -r 'select(.refused == null).signature'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.config(cmd)
			if err != nil {
				return err
			}
			return p.inspect(c, args, as)
		},
	}
	cmd.Flags().BoolVar(&as.json, "json", false, "print one JSON object per file")
	cmd.Flags().BoolVar(&as.why, "why", false, "explain how the report is grouped")
	return cmd
}

// inspectOutput is the format of the output.
type inspectOutput struct{ json, why bool }

// inspection is the output for one file with --json. Missing values are null.
type inspection struct {
	File             string   `json:"file"`
	ProblemType      *string  `json:"problem_type"`
	Signature        *string  `json:"signature"`
	Rule             *string  `json:"rule"`
	AddressSignature *string  `json:"address_signature"`
	Title            *string  `json:"title"`
	Package          *string  `json:"package"`
	Version          *string  `json:"version"`
	SourcePackage    *string  `json:"source_package"`
	Release          *string  `json:"release"`
	Architecture     *string  `json:"architecture"`
	Dropped          []string `json:"dropped_fields,omitempty"`
	Why              *reasons `json:"why,omitempty"`
}

// refusedFile is the output with --json for a file that would be refused.
type refusedFile struct {
	File    string `json:"file"`
	Refused string `json:"refused"`
}

func (p *program) inspect(c config.Config, files []string, as inspectOutput) error {
	out := json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	judge, table := intake.New(intakeConfig(c), nil), c.Privacy()
	var refused bool
	for i, file := range files {
		var rec crash.Record
		var why *reasons
		content, err := inspectFile(file)
		fields := content.fields
		if err == nil {
			rec, err = judge.Examine(crash.Report{Fields: fields})
		}
		refused = refused || err != nil
		if as.why && err == nil {
			why = newReasons(grouping.Explain(fields))
		}
		switch {
		case as.json && err != nil:
			err = out.Encode(refusedFile{file, reason(err)})
		case as.json:
			found := newInspection(file, rec)
			_, found.Dropped = table.DropSecrets(fields)
			found.Why = why
			err = out.Encode(found)
		default:
			if i > 0 {
				p.printf("")
			}
			_, private := table.Visible(crash.User{Role: crash.RoleViewer}, rec.Fields, rec.SourcePackage)
			_, dropped := table.DropSecrets(fields)
			dropped = append(dropped, content.binary...)
			if err = p.describe(file, rec, private, dropped, err); err == nil && why != nil {
				err = p.describeReasons(*why)
			}
		}
		if err != nil {
			return err
		}
	}
	if refused {
		return errReported
	}
	return nil
}

func inspectFile(file string) (reportFile, error) {
	f, err := openCrashFile(file)
	if err != nil {
		return reportFile{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	return readCrashFile(f, 0)
}

func newInspection(file string, rec crash.Record) inspection {
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return inspection{
		File: file, ProblemType: orNull(rec.ProblemType),
		Signature: orNull(rec.Grouping.Signature), Rule: orNull(string(rec.Grouping.Rule)),
		AddressSignature: orNull(rec.AddressSignature), Title: orNull(rec.Title), Package: orNull(rec.Package),
		Version: orNull(rec.Version), SourcePackage: orNull(rec.SourcePackage), Release: orNull(string(rec.Release)),
		Architecture: orNull(rec.Architecture),
	}
}

// describe prints what mishap would store of a file, with the names of private fields and of dropped
// ones, or the reason for a refusal.
func (p *program) describe(file string, rec crash.Record, private, dropped []string, refusal error) error {
	p.printf("%s", onOneLine(file))
	w := newTable(p.out)
	line := w.labelled
	if refusal != nil {
		line("refused", reason(refusal))
		return w.Flush()
	}
	line("problem type", rec.ProblemType)
	line("title", rec.Title)
	line("package", rec.Package)
	line("version", rec.Version)
	line("source package", rec.SourcePackage)
	line("release", string(rec.Release))
	line("architecture", rec.Architecture)
	line("signature", rec.Grouping.Signature)
	line("not grouped", rec.Grouping.Reason)
	line("address signature", rec.AddressSignature)
	if rec.Grouping.Signature != "" {
		line("grouped by", groupedBy(rec.Grouping))
		line("problem", crash.BucketIDOf(rec.Grouping.Signature).Path())
	}
	line("counts on", rec.Day.Format(time.DateOnly))
	line("private fields", strings.Join(private, ", "))
	line("dropped fields", strings.Join(dropped, ", "))
	return w.Flush()
}

// reason returns a sentence that says why a file is not stored.
func reason(err error) string {
	if known, ok := errors.AsType[*crash.Error](err); ok {
		return known.Message
	}
	if inFile, ok := errors.AsType[*fs.PathError](err); ok { // the caller names the file
		return inFile.Err.Error()
	}
	return err.Error()
}

// onOneLine returns outside text for a terminal, with control characters and line breaks escaped.
func onOneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func groupedBy(g crash.Grouping) string {
	if g.Provisional {
		return string(g.Rule) + ", until it is symbolised"
	}
	return string(g.Rule)
}

// reasons is the output of inspect --why, made from a [grouping.Explanation].
type reasons struct {
	Because string       `json:"because"` // what the rule uses, or why there is no signature
	Field   string       `json:"field,omitempty"`
	Used    []usedFrame  `json:"used,omitempty"`
	Skipped []leftFrame  `json:"left_out,omitempty"`
	Changed []sameAsText `json:"made_the_same,omitempty"`
}

type usedFrame struct {
	Text string `json:"text"`
	As   string `json:"as"`
}

type leftFrame struct {
	Text string `json:"text"`
	Why  string `json:"why"`
}

type sameAsText struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func newReasons(e grouping.Explanation) *reasons {
	r := reasons{Because: e.Description, Field: e.Field}
	if e.Signature == "" {
		r.Because = e.Reason
	}
	for _, f := range e.Frames {
		if f.Used {
			r.Used = append(r.Used, usedFrame{f.Text, f.As})
		} else {
			r.Skipped = append(r.Skipped, leftFrame{f.Text, f.Why})
		}
	}
	for _, c := range e.Changes {
		r.Changed = append(r.Changed, sameAsText{c.From, c.To})
	}
	return &r
}

// describeReasons prints the reasons below the output of describe.
func (p *program) describeReasons(r reasons) error {
	p.printf("  why: %s", onOneLine(r.Because))
	w := newTable(p.out)
	line := func(label, text, more string) { w.row("    "+label, onOneLine(text), onOneLine(more)) }
	if r.Field != "" {
		line("read from", r.Field, "")
	}
	for _, f := range r.Used {
		line("used", f.Text, f.As)
	}
	for _, f := range r.Skipped {
		line("left out", f.Text, f.Why)
	}
	for _, c := range r.Changed {
		line("made the same", c.From, c.To)
	}
	return w.Flush()
}
