package db

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
)

// When mishap symbolises a report, it adds the fields of the stacks to the report's body, so that
// all code that reads reports sees them. The sender's value of such a field stays under the name
// with the prefix senderPrefix.
const senderPrefix = "Sender"

// stackFields are the fields that symbolising can replace.
var stackFields = [...]string{"Stacktrace", "StacktraceTop", "ThreadStacktrace", "Registers", "Disassembly",
	"AssertionMessage"}

const (
	sqlReportToName = `
		select bucket_id, counted, executable, package, version, release, architecture, address_signature, body
		from reports where received = @received and id = @id for update`
	sqlSaveNames = `
		update reports set body = @body, title = @title, complete = @complete where received = @received and id = @id`
)

// NameReport adds the fields of a symbolised stack to a report. If final is true and the fields give
// a signature with names, the report moves to the problem with this signature, and so do all present
// and future reports with the same address signature. Every count, bug and decision stays exact.
//
// Before it commits, NameReport calls also with whether the report has a final signature, and why
// not. An error of also undoes everything. NameReport returns NotFound if the report is not stored.
func (s *Decisions) NameReport(ctx context.Context, id crash.OopsID, found crash.Fields, final bool,
	also func(ctx context.Context, tx pgx.Tx, named bool, why string) error) error {
	err := s.decide(ctx, func(d *deciding) error {
		if err := d.countAll(ctx); err != nil {
			return err
		}
		r, err := d.saveNames(ctx, id, found)
		if err != nil {
			return err
		}
		named := final && r.grouping.Signature != "" && !r.grouping.Provisional
		if named {
			names := map[crash.BucketID]crash.BucketID{}
			if r.counted && r.address != "" {
				names[crash.BucketIDOf(r.address)] = *r.own()
			}
			if _, err := d.regroup(ctx, []groupedReport{r}, names, grouping.RulesVersion); err != nil {
				return err
			}
		}
		return also(ctx, d, named, r.grouping.Reason)
	})
	if err != nil {
		return fmt.Errorf("name report %s: %w", id, err)
	}
	return nil
}

// saveNames stores the fields of a report with those of its symbolised stack, and groups it again.
func (d *deciding) saveNames(ctx context.Context, id crash.OopsID, found crash.Fields) (r groupedReport, err error) {
	r.id, r.stale = id, true
	args := ReportArgs(id)
	var bucket, body []byte
	err = d.QueryRow(ctx, sqlReportToName, args).Scan(&bucket, &r.counted, &r.summary.Executable, &r.summary.Package,
		&r.summary.Version, &r.summary.Release, &r.summary.Architecture, &r.address, &body)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, errUnknownReport
	}
	if err != nil {
		return r, err
	}
	if bucket != nil {
		r.from = (*crash.BucketID)(bucket)
	}
	fields, err := d.store.bodies.Decompress(body)
	if err != nil {
		return r, err
	}
	found, _ = d.store.privacy.DropSecrets(found)
	r.fields = withNames(fields, found, r.address)
	r.grouping = grouping.SignatureOf(r.fields)
	body = d.store.bodies.Compress(r.fields)
	defer d.store.bodies.Release(body)
	args["body"], args["title"] = body, grouping.SummaryOf(r.fields).Title
	args["complete"] = grouping.HasEvidence(r.fields, r.grouping)
	_, err = d.Exec(ctx, sqlSaveNames, args)
	return r, err
}

// withNames returns the fields of a report with those of its symbolised stack. It keeps the address
// signature: computed from the new stack it would differ, because that has inlined functions.
func withNames(fields, found crash.Fields, address string) crash.Fields {
	all := maps.Clone(fields)
	if _, again := fields[crash.SymbolisedBy]; !again {
		for _, name := range stackFields { // also those that a later try will replace
			if value, ok := fields[name]; ok {
				all[senderPrefix+name] = value
			}
		}
	}
	maps.Copy(all, found)
	if address != "" && fields["StacktraceAddressSignature"] == "" {
		all["StacktraceAddressSignature"] = address
	}
	return all
}
