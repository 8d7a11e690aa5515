package db_test

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// snapshots is a database whose stores save their index in a folder.
type snapshots struct {
	*testing.T
	url, folder string
	now         time.Time
	log         lockedText
}

// open returns a store that has not loaded the index yet.
func (s *snapshots) open(folder string) *db.Store {
	s.Helper()
	store := dbtest.Must(db.Open(s.Context(), db.Config{URL: s.url, DataDir: folder,
		Now: func() time.Time { return s.now }, Log: slog.New(slog.NewTextHandler(&s.log, nil))}))(s.T)
	s.Cleanup(store.Close)
	return store
}

// contents describes everything in an index that comes from the database, in a fixed order.
func contents(ix *index.Index) []string {
	rows, _, versions, origins, _ := ix.Rows(0, 1<<30)
	var all []string
	for _, r := range rows {
		var cells []string
		for _, c := range r.Cells {
			if c.Reports > 0 {
				cells = append(cells, fmt.Sprint(c.Day, versions[c.Version], origins[c.Origin], c.Reports))
			}
		}
		slices.Sort(cells)
		slices.SortFunc(r.Seen, func(a, b crash.SeenSpan) int { return cmp.Compare(a.First.Release, b.First.Release) })
		all = append(all, fmt.Sprintf("%s %s %q %s %v %s %q %q %s %s %s %d %d %v %v", r.ID, r.Head, r.Signature, r.Rule,
			r.Provisional, r.Type, r.Title, r.Name, r.Executable, r.Package, r.Source, r.Reports, r.Systems, r.Seen,
			cells))
	}
	slices.Sort(all)
	return all
}

// wantFresh checks that a store that may use the snapshot has the same index as one that does not. used says
// whether it must use it.
func (s *snapshots) wantFresh(what string, used bool) {
	s.Helper()
	s.log.Reset()
	got := dbtest.Must(s.open(s.folder).IndexWithStates(s.Context()))(s.T)
	if loaded := strings.Contains(s.log.String(), "loaded the snapshot"); loaded != used {
		s.Errorf("%s: used the snapshot: %v, want %v: %s", what, loaded, used, s.log.String())
	}
	fresh := dbtest.Must(s.open("").IndexWithStates(s.Context()))(s.T)
	if a, b := contents(got), contents(fresh); !slices.Equal(a, b) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				s.Errorf("%s: the index differs:\n got %s\nwant %s", what, a[i], b[i])
			}
		}
		s.Errorf("%s: got %d buckets, want %d", what, len(a), len(b))
	}
	for _, p := range fresh.Select(func(*index.Problem) bool { return true }) {
		if o, ok := got.Problem(p.ID); !ok || o.State != p.State || o.Systems != p.Systems || o.Reports != p.Reports ||
			o.Muted() != p.Muted() {
			s.Errorf("%s: %s: got %+v, want %+v", what, p.ID, o, p)
		}
	}
}

func newSnapshots(t *testing.T) *snapshots {
	t.Helper()
	return snapshotsOf(t, dbtest.URL(t))
}

func snapshotsOf(t *testing.T, url string) *snapshots {
	t.Helper()
	return &snapshots{T: t, url: url, folder: t.TempDir(), now: time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)}
}

func (s *snapshots) add(store *db.Store, signature, machine string, days int, changes crash.Fields) crash.BucketID {
	s.Helper()
	fields := crash.Fields{"DuplicateSignature": signature}
	for k, v := range changes {
		fields[k] = v
	}
	save(s.T, store, record(s.T, s.now.AddDate(0, 0, -days), machine, fields))
	dbtest.Counted(s.T, store)
	return crash.BucketIDOf(signature)
}

func (s *snapshots) save(store *db.Store) {
	s.Helper()
	if _, err := store.IndexWithStates(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := store.SaveIndex(s.Context(), true); err != nil {
		s.Fatal(err)
	}
}

// An index from a snapshot equals one from the database, whatever has happened since.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := newSnapshots(t)
	store := s.open(s.folder)
	var ids []crash.BucketID
	for i := range 6 {
		for d := range 3 {
			ids = append(ids, s.add(store, fmt.Sprint("problem ", i), fmt.Sprint("m", d), d*(i+3), crash.Fields{
				"DistroRelease": []string{"Ubuntu 24.04", "Debian 13", ""}[d], "Package": fmt.Sprintf("harbor 1.%d-1", d)}))
		}
	}
	ids = slices.Compact(ids)
	s.save(store)
	file := filepath.Join(s.folder, db.SnapshotName)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600", info.Mode(), err)
	}
	s.wantFresh("nothing has changed", true)

	decisions := db.NewDecisions(store)
	s.add(store, "problem 0", "m9", 0, crash.Fields{"Package": "harbor 2.0-1"})
	s.add(store, "another", "m9", 1, nil)
	s.wantFresh("new reports", true)
	merge := dbtest.Must(decisions.Merge(t.Context(), ids[1], []crash.BucketID{ids[2], ids[3]}, "ada", "the same"))(t)
	s.wantFresh("a merge", true)
	s.save(store)
	_ = merge
	history := dbtest.Must(decisions.Decisions(t.Context(), ids[1], 5))(t)
	dbtest.Must(decisions.Undo(t.Context(), history[0].ID, "ada"))(t)
	s.wantFresh("a merge is undone", true)
	if _, err := bugs.New(store).LinkBug(t.Context(), ids[4], crash.Bug{Number: 4, URL: "u", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	s.wantFresh("a bug", true)
	dbtest.Exec(t, s.url, `with r as (update counting set round = round + 1 returning round),
		d as (delete from bucket_days where bucket_id in (select id from buckets order by id limit 2))
		update buckets set changed = r.round, shrunk = r.round from r
		where id in (select id from buckets order by id limit 2)`)
	s.wantFresh("reports were moved away", true)
	dbtest.Exec(t, s.url, `update counting set erasures = erasures + 1, round = round + 1;
		with b as (delete from buckets where signature in ('another', 'problem 5') returning id),
			a as (delete from bucket_arrivals where bucket_id in (select id from b)),
			r as (delete from bucket_releases where bucket_id in (select id from b)),
			v as (delete from bucket_versions where bucket_id in (select id from b)),
			s as (delete from bucket_systems where bucket_id in (select id from b))
		delete from bucket_days where bucket_id in (select id from b)`)
	s.wantFresh("problems were deleted", true)
	s.add(store, "problem 5", "m4", 2, nil)
	s.wantFresh("one of them came back", true)
	s.now = s.now.AddDate(0, 0, 395)
	s.wantFresh("a year later", true)
	s.now = s.now.AddDate(0, 0, -395)

	// A later failover or restart of the server loses nothing if it has the rounds.
	s.save(store)
	dbtest.Exec(t, s.url, `update server_starts set started = started - interval '1 hour'`)
	s.add(store, "problem 5", "m7", 2, nil)
	s.wantFresh("another server with all rounds", true)

	// A server that lacks the last rounds, and has counted others.
	s.save(store)
	for i := range 3 {
		s.add(store, "problem 5", fmt.Sprint("m1", i), 2, nil)
	}
	s.save(store)
	dbtest.Exec(t, s.url, `update server_starts set started = started - interval '1 hour';
		insert into server_starts (started, database, round)
		select pg_postmaster_start_time(), (select oid from pg_database where datname = current_database()), round - 1
		from counting`)
	s.wantFresh("another server without the last rounds", false)
	dbtest.Exec(t, s.url, `update counting set round = round + 20`)
	s.wantFresh("and later, with a higher round", false)

	// An older copy of the same server, by its round.
	s.save(store)
	dbtest.Exec(t, s.url, `update counting set round = round - 15`)
	s.wantFresh("a lower round", false)

	// Another database.
	other := newSnapshots(t)
	other.add(other.open(""), "elsewhere", "m", 1, nil)
	other.folder = s.folder
	other.wantFresh("another database", false)
}

// A start equals one without a snapshot after each change that moves, removes or erases reports or problems.
func TestSnapshotThenChange(t *testing.T) {
	t.Parallel()
	type change func(s *snapshots, store *db.Store, ids []crash.BucketID)
	erase := func(s *snapshots, store *db.Store, machine string) {
		erasing := upkeep.NewErasing(store)
		e := dbtest.Must(erasing.Request(s.Context(), crash.NewSystemID(machine), false, "ada"))(s.T)
		if e = dbtest.Must(erasing.Work(s.Context(), e.ID, nil, nil))(s.T); e.Counts.Reports == 0 {
			s.Errorf("erased nothing of %s: %+v", machine, e)
		}
	}
	merge := func(s *snapshots, store *db.Store, into crash.BucketID, from ...crash.BucketID) {
		dbtest.Must(db.NewDecisions(store).Merge(s.Context(), into, from, "ada", "the same"))(s.T)
	}
	regroup := func(s *snapshots, store *db.Store) {
		rules := crash.GroupingRules{Version: 1000, Group: func(f crash.Fields) crash.Grouping {
			signature := f["DuplicateSignature"]
			if f["Architecture"] == "arm64" {
				signature += ", regrouped"
			}
			return crash.Grouping{Signature: signature, Rule: crash.RuleDuplicateSignature}
		}}
		d := db.NewDecisions(store)
		run := dbtest.Must(d.StartRegroup(s.Context(), rules.Version, false, "ada"))(s.T)
		for run.State == crash.RegroupRunning {
			run = dbtest.Must(d.StepRegroup(s.Context(), run.ID, rules))(s.T)
		}
		if run.Moved == 0 {
			s.Error("no report has moved")
		}
	}
	expire := func(s *snapshots, store *db.Store) {
		months := dbtest.Must(store.DropReports(s.Context(), s.now.AddDate(0, -2, 0)))(s.T)
		e := dbtest.Must(upkeep.NewRetention(store, nil).ExpireCounts(s.Context(), 2))(s.T)
		if len(months) < 2 || e.Problems == 0 {
			s.Errorf("got the months %v dropped and %+v, want old reports and counts to expire", months, e)
		}
	}
	changes := map[string]change{
		"nothing":             func(*snapshots, *db.Store, []crash.BucketID) {},
		"a machine is erased": func(s *snapshots, store *db.Store, _ []crash.BucketID) { erase(s, store, "m0") },
		"a problem is erased": func(s *snapshots, store *db.Store, _ []crash.BucketID) { erase(s, store, "alone") },
		"an erased problem comes back": func(s *snapshots, store *db.Store, _ []crash.BucketID) {
			erase(s, store, "alone")
			s.add(store, "of one machine", "another", 3, nil)
		},
		"a split": func(s *snapshots, store *db.Store, ids []crash.BucketID) { split(s.T, store, ids[0], arm) },
		"a split is undone": func(s *snapshots, store *db.Store, ids []crash.BucketID) {
			d := split(s.T, store, ids[0], arm)
			undo(s.T, store, d)
			finished(s.T, store, d.ID)
		},
		"a merge": func(s *snapshots, store *db.Store, ids []crash.BucketID) {
			merge(s, store, ids[0], ids[1], ids[2])
		},
		"a merge is undone": func(s *snapshots, store *db.Store, ids []crash.BucketID) {
			merge(s, store, ids[0], ids[1], ids[2])
			undo(s.T, store, decisions(s.T, store, ids[0])[0])
		},
		"merged, then a machine is erased": func(s *snapshots, store *db.Store, ids []crash.BucketID) {
			merge(s, store, ids[0], ids[1])
			erase(s, store, "m0")
		},
		"regrouped": func(s *snapshots, store *db.Store, _ []crash.BucketID) { regroup(s, store) },
		"retention": func(s *snapshots, store *db.Store, _ []crash.BucketID) { expire(s, store) },
		"all of it": func(s *snapshots, store *db.Store, ids []crash.BucketID) {
			merge(s, store, ids[3], ids[1], ids[2])
			split(s.T, store, ids[0], arm)
			regroup(s, store)
			erase(s, store, "alone")
			expire(s, store)
			erase(s, store, "m1")
			s.add(store, "of one machine", "another", 3, nil)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSnapshots(t)
			store := s.open(s.folder)
			var ids []crash.BucketID
			for i := range 4 {
				for n := range 6 {
					id := s.add(store, fmt.Sprint("problem ", i), fmt.Sprint("m", n%4), n*25+i, crash.Fields{
						"Architecture": []string{"amd64", "arm64"}[n%2], "Package": fmt.Sprintf("harbor 1.%d-1", n%3),
						"DistroRelease": []string{"Ubuntu 24.04", "Debian 13"}[n/3]})
					ids = append(ids, id)
				}
			}
			ids = slices.Compact(ids)
			s.add(store, "of one machine", "alone", 5, nil)
			s.add(store, "old", "m0", 4*365, nil)
			s.save(store)
			change(s, store, ids)
			s.wantFresh(name, true)
			s.add(store, "problem 0", "m8", 1, nil)
			s.wantFresh(name+", and a report", true)
		})
	}
}

// A damaged file is ignored, wherever the damage is.
func TestDamagedSnapshot(t *testing.T) {
	t.Parallel()
	s := newSnapshots(t)
	store := s.open(s.folder)
	for i := range 3 {
		s.add(store, fmt.Sprint("problem ", i), "m", i, nil)
	}
	s.save(store)
	store.Close()
	file := filepath.Join(s.folder, db.SnapshotName)
	whole := dbtest.Must(os.ReadFile(file))(t)
	read := func(data []byte, what string, want bool) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.ReadSnapshot(t.Context()); ok != want {
			t.Errorf("%s: used: %v, %v", what, ok, err)
		}
	}
	for end := range whole {
		read(whole[:end], fmt.Sprintf("cut after %d bytes", end), false)
	}
	for at := range whole {
		data := bytes.Clone(whole)
		data[at] ^= 1 << (at % 8)
		read(data, fmt.Sprintf("byte %d", at), false)
	}
	read(append(bytes.Clone(whole), 0), "a byte more", false)
	read(whole, "whole", true)

	if err := os.WriteFile(file, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantFresh("half of the file", false)
	if n := strings.Count(s.log.String(), "cannot use the snapshot"); n != 1 {
		t.Errorf("got %d lines in the log, want 1: %s", n, s.log.String())
	}
}

// lockedText is a text that several goroutines may write.
type lockedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lockedText) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// Two processes with one folder replace each other's file, which is complete at any time.
func TestSnapshotOfTwoProcesses(t *testing.T) {
	t.Parallel()
	s := newSnapshots(t)
	a, b := s.open(s.folder), s.open(s.folder)
	s.add(a, "problem", "m", 1, nil)
	done := make(chan error, 2)
	for _, store := range []*db.Store{a, b} {
		go func() {
			for i := range 10 {
				save(t, store, record(t, s.now, fmt.Sprint("m", i), crash.Fields{"DuplicateSignature": fmt.Sprint("p", i)}))
				if _, err := store.Index(t.Context()); err != nil {
					done <- err
					return
				}
				if err := store.SaveIndex(t.Context(), true); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	dbtest.Counted(t, a)
	s.wantFresh("two processes", true)
	if rest, _ := filepath.Glob(filepath.Join(s.folder, ".*")); len(rest) > 0 {
		t.Errorf("got the files %v, want none but the snapshot", rest)
	}
}
