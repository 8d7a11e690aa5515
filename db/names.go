package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/stats"
)

// A native crash without function names goes to a provisional bucket, which is keyed by the address
// signature. Once a report has names for the same address signature, the provisional bucket is
// merged into the bucket of that report. Its counts, links and address then belong to the other
// problem, and so do later reports without names. If an address signature gets two different names,
// the first one stays: neither is known to be better, and reports must not move back and forth. A
// person can undo the merge, and then it is not repeated.

// nameOf returns the provisional bucket for which a grouped report has function names, or nil if
// there is none.
func nameOf(counted bool, rule crash.GroupingRule, address string) *crash.BucketID {
	if !counted || address == "" || rule != crash.RuleStacktrace && rule != crash.RuleStackNames {
		return nil
	}
	id := crash.BucketIDOf(address)
	return &id
}

// maxCachedNames is the maximum number of provisional buckets whose names a process caches as
// stored.
const maxCachedNames = 1 << 16

const sqlInsertNames = `
	insert into known_names (address_id, bucket_id)
	select * from unnest(@ids::bytea[], @buckets::bytea[]) as n (address_id, bucket_id)
	on conflict (address_id) do nothing`

// insertNames stores, in a transaction, which buckets have names for which provisional buckets. It
// skips those that are cached as stored. It returns the rest, which the caller adds to s.names
// after the commit.
func (s *Store) insertNames(
	ctx context.Context, tx pgx.Tx, server serverID, names map[crash.BucketID]crash.BucketID,
) (inserted map[crash.BucketID]bool, err error) {
	var ids []crash.BucketID
	for id := range names {
		if _, ok := s.names.find(server, id); !ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.SortFunc(ids, compareIDs) // a fixed order prevents deadlocks
	buckets := make([]crash.BucketID, len(ids))
	inserted = make(map[crash.BucketID]bool, len(ids))
	for i, id := range ids {
		buckets[i], inserted[id] = names[id], true
	}
	_, err = tx.Exec(ctx, sqlInsertNames, pgx.NamedArgs{"ids": IDBytes(ids),
		"buckets": IDBytes(buckets)})
	return inserted, Wrap(err, "store names")
}

const (
	// sqlToAdopt selects provisional buckets that this round has changed, and those with a new name.
	sqlToAdopt = `
		select b.id, h.id
		from (
			select id from buckets where changed = @round and provisional
			union
			select address_id from known_names where fresh
		) as c
			join buckets as b on b.id = c.id
			join known_names as n on n.address_id = b.id
			join buckets as h on h.id = n.bucket_id
		where b.provisional and b.head = b.id and not n.refused and h.head <> b.id
		order by b.id`
	sqlNamesUsed = `
		update known_names set fresh = false
		where fresh and exists (select from buckets where id = known_names.bucket_id)`
)

// adoptProvisional merges provisional buckets into the buckets that have names for them. tx holds
// the counting lock, and the buckets of the round exist already. A round without provisional
// buckets or new names costs only two index look-ups.
func (s *Store) adoptProvisional(ctx context.Context, tx pgx.Tx, round int64) error {
	rows, err := tx.Query(ctx, sqlToAdopt, pgx.NamedArgs{"round": round})
	if err != nil {
		return fmt.Errorf("names for provisional problems: %w", err)
	}
	type pair struct{ from, named crash.BucketID }
	pairs, err := pgx.CollectRows(rows, Into(func(p *pair) []any {
		return []any{ScanTo(p.from[:]), ScanTo(p.named[:])}
	}))
	if err != nil {
		return fmt.Errorf("names for provisional problems: %w", err)
	}
	d := &deciding{Tx: tx, store: s, round: round}
	for _, p := range pairs {
		// Read the heads for each pair, because a merge may change those of the next pair.
		heads, err := d.heads(ctx, []crash.BucketID{p.from, p.named})
		if err != nil {
			return err
		}
		head := heads[p.named]
		if heads[p.from] != p.from || head == p.from {
			continue
		}
		if err := d.merge(ctx, p.from, head, crash.CauseSymbolised, "", "A report with the same addresses has brought the "+
			"names of the functions."); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, sqlNamesUsed)
	return Wrap(err, "names for provisional problems")
}

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
		update reports set body = @body, title = @title, complete = @complete, quality = @quality
		where received = @received and id = @id`
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
	return Wrap(err, "name report %s", id)
}

// saveNames stores the fields of a report with those of its symbolised stack, and groups it again.
func (d *deciding) saveNames(ctx context.Context, id crash.OopsID, found crash.Fields) (r groupedReport, err error) {
	r.id, r.stale = id, true
	args := ReportArgs(id)
	var bucket, body []byte
	err = d.QueryRow(ctx, sqlReportToName, args).Scan(&bucket, &r.counted, &r.summary.Executable, &r.summary.Package,
		&r.summary.Version, &r.summary.Release, &r.summary.Architecture, &r.address, &body)
	if err != nil {
		return r, NoRows(err, errUnknownReport)
	}
	if bucket != nil {
		r.from = (*crash.BucketID)(bucket)
	}
	fields, err := Decompress(body)
	if err != nil {
		return r, err
	}
	found, _ = d.store.privacy.DropSecrets(found)
	r.fields = withNames(fields, found, r.address)
	r.grouping = grouping.SignatureOf(r.fields)
	args["body"], args["title"] = Compress(r.fields), grouping.SummaryOf(r.fields).Title
	complete := grouping.HasEvidence(r.fields, r.grouping)
	args["complete"], args["quality"] = complete, grouping.Quality(r.fields, complete)
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

const (
	sqlVersionsChanged  = `select versions_changed > @round from counting`
	sqlAllVersionsInUse = `
		select package, release, version, arrived, first_day from package_versions order by package, release, version`
)

// versionsInUse holds the versions in use of all packages. Once read, it is immutable.
type versionsInUse struct {
	texts index.Numbers[string]     // releases and versions
	of    map[string][]versionInUse // by binary package; sorted by release and version
}

func newVersionsInUse() *versionsInUse {
	return &versionsInUse{texts: index.NewNumbers[string](), of: map[string][]versionInUse{}}
}

// versionInUse is a [stats.VersionKnown] without pointers. There are hundreds of thousands of them,
// and each garbage collection would follow the pointers.
type versionInUse struct {
	release, version uint32 // numbers of texts
	arrived, since   int64  // in microseconds since 1970
}

// known returns the versions in use of a binary package, sorted by release and version.
func (v *versionsInUse) known(pkg string) []stats.VersionKnown {
	known := make([]stats.VersionKnown, 0, len(v.of[pkg]))
	for _, k := range v.of[pkg] {
		known = append(known, v.full(k))
	}
	return known
}

// add adds a version in use, after those of its package that sort before it.
func (v *versionsInUse) add(pkg string, k stats.VersionKnown) {
	v.of[pkg] = append(v.of[pkg], versionInUse{release: v.texts.Number(string(k.Release)),
		version: v.texts.Number(k.Version), arrived: k.Arrived.UnixMicro(), since: k.Since.UnixMicro()})
}

// full is the inverse of add.
func (v *versionsInUse) full(k versionInUse) stats.VersionKnown {
	return stats.VersionKnown{Release: crash.Release(v.texts.Value(k.release)), Version: v.texts.Value(k.version),
		Arrived: time.UnixMicro(k.arrived).UTC(), Since: time.UnixMicro(k.since).UTC()}
}

// changedSince returns the packages whose versions in use differ from those in old.
func (v *versionsInUse) changedSince(old *versionsInUse) map[string]bool {
	changed := map[string]bool{}
	if v == old {
		return changed
	}
	equal := func(a, b versionInUse) bool { return v.full(a).Equal(old.full(b)) }
	for name := range v.of {
		if !slices.EqualFunc(v.of[name], old.of[name], equal) {
			changed[name] = true
		}
	}
	for name := range old.of {
		if v.of[name] == nil {
			changed[name] = true
		}
	}
	return changed
}

// versionsInUse returns the versions in use of all packages, as far as the reader of ctx may know
// them.
func (s *Store) versionsInUse(ctx context.Context) (*versionsInUse, error) {
	if hidden, err := hiddenFrom(ctx, s); err != nil {
		return nil, err
	} else if len(hidden) == 0 {
		at, err := s.stamp(ctx)
		if err != nil {
			return nil, fmt.Errorf("versions in use: %w", err)
		}
		l, err := s.currentIndex(ctx, at)
		return l.inUse, Wrap(err, "versions in use")
	}
	type key struct{}
	return CachedCounts(ctx, s, key{}, func(ctx context.Context) (*versionsInUse, error) {
		return readVersionsInUse(ctx, s)
	})
}

func readVersionsInUse(ctx context.Context, s *Store) (*versionsInUse, error) {
	next := newVersionsInUse()
	var pkg string
	var k stats.VersionKnown
	err := Each(ctx, s.Pool, sqlAllVersionsInUse, nil,
		[]any{&pkg, (*string)(&k.Release), &k.Version, &k.Arrived, &k.Since}, func() {
			next.add(pkg, k)
		})
	if err != nil {
		return nil, fmt.Errorf("versions in use: %w", Classify(err))
	}
	for name, versions := range next.of {
		next.of[name] = slices.Clone(versions) // without spare capacity
	}
	return next, nil
}

// VersionsInUse returns the versions in use of a binary package, sorted by release and version.
func (s *Store) VersionsInUse(ctx context.Context, pkg string) ([]stats.VersionKnown, error) {
	v, err := s.versionsInUse(ctx)
	if err != nil {
		return nil, err
	}
	return v.known(pkg), nil
}
