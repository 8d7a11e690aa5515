package erase

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// FileName is the name of the file in a data directory, and in backups, with all erasures of the
// database. A restore reads it, so that what was erased after the backup is erased again. It contains
// digests and their key, no machine and no report. Package backup has the same name.
const FileName = "erasures.jsonl"

// header is the first line of the file.
type header struct {
	Format int    `json:"format"`
	Key    string `json:"key"`
}

// entry is a further line of the file.
type entry struct {
	Digest    string    `json:"digest"`
	Blocked   bool      `json:"blocked"`
	Person    string    `json:"person"`
	Via       string    `json:"via"`
	Requested time.Time `json:"requested"`
	Until     time.Time `json:"until"`
	Reports   []string  `json:"reports"` // digests of keys
}

const fileFormat = 1

const (
	sqlKey     = `select encode(key, 'hex') from erasure_key`
	sqlEntries = `
		select encode(e.digest, 'hex'), e.blocked, e.person, e.via, e.requested, e.until,
			array(select encode(r.digest, 'hex') from erased_reports as r where r.erasure = e.id order by r.digest)
		from erasures as e order by e.id`
	sqlState = `select concat_ws('.', count(*), count(finished), count(*) filter (where blocked)) from erasures`
)

// State returns a text that changes when WriteFile would write something else.
func (s *Store) State(ctx context.Context) (state string, err error) {
	if err := s.Pool.QueryRow(ctx, sqlState).Scan(&state); err != nil {
		return "", fmt.Errorf("state of erasures: %w", db.Classify(err))
	}
	return state, nil
}

// WriteFile writes all erasures to the file in a folder. The file is always complete, and only its owner
// can read it. Nothing is written if there are no erasures.
func (s *Store) WriteFile(ctx context.Context, folder string) (err error) {
	h := header{Format: fileFormat}
	if err := s.Pool.QueryRow(ctx, sqlKey).Scan(&h.Key); err != nil {
		return fmt.Errorf("key of erasures: %w", db.Classify(err))
	}
	rows, err := s.Pool.Query(ctx, sqlEntries)
	if err != nil {
		return fmt.Errorf("erasures: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e entry, err error) {
		err = row.Scan(&e.Digest, &e.Blocked, &e.Person, &e.Via, &e.Requested, &e.Until, &e.Reports)
		return e, err
	})
	if err != nil {
		return fmt.Errorf("erasures: %w", db.Classify(err))
	}
	if len(all) == 0 {
		return nil
	}
	f, err := os.CreateTemp(folder, "."+FileName+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write erasures: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after success, it has been renamed
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	err = lines.Encode(h)
	for _, e := range all {
		err = errors.Join(err, lines.Encode(e))
	}
	if err = errors.Join(err, out.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, FileName))
	}
	if err != nil {
		return fmt.Errorf("write erasures: %w", err)
	}
	return nil
}

// Record holds the erasures of files, to be applied to a restored database.
type Record struct {
	key     string
	entries map[string]entry // by digest and time of the request
}

// Empty reports whether there are no erasures.
func (r *Record) Empty() bool { return len(r.entries) == 0 }

// ReadFile adds the erasures of a file. It does nothing if the file does not exist. It returns Invalid
// if the file is damaged, and Conflict if it is from another database than the files before.
func (r *Record) ReadFile(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read erasures: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	damaged := crash.Errorf(crash.Invalid, "erasures_damaged", "The file %s is damaged. Without it, machines that were "+
		"erased after the backup come back: restore another copy of the file, or remove it to accept that.", name)
	lines := json.NewDecoder(bufio.NewReader(f))
	var h header
	if err := lines.Decode(&h); err != nil || h.Format != fileFormat || len(hexBytes(h.Key)) != 32 {
		return damaged.Because(err)
	}
	if r.key != "" && r.key != h.Key {
		return crash.Errorf(crash.Conflict, "erasures_foreign", "The file %s is from another database.", name)
	}
	r.key = h.Key
	if r.entries == nil {
		r.entries = map[string]entry{}
	}
	for {
		var e entry
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || len(hexBytes(e.Digest)) != 32 {
			return damaged.Because(err)
		}
		id := e.Digest + e.Requested.UTC().Format(time.RFC3339Nano)
		if known, ok := r.entries[id]; !ok || len(known.Reports) <= len(e.Reports) {
			r.entries[id] = e
		}
	}
}

const (
	// sqlTakeKey takes over the key of the file if the database has not used its own.
	sqlTakeKey = `
		update erasure_key set key = @key
		where not exists (select from erasures) and key <> @key`
	sqlSameKey  = `select key = @key from erasure_key`
	sqlAddEntry = `
		insert into erasures (digest, system, blocked, person, via, requested, until)
		select @digest, '', @blocked, @person, @via, @requested, @until
		where not exists (select from erasures where digest = @digest and requested = @requested)
		on conflict do nothing returning id`
	sqlAddReports = `
		insert into erased_reports (digest, erasure) select *, @erasure from unnest(@reports::bytea[]) on conflict do nothing`
	sqlExtendUntil = `
		update erasures set until = greatest(until, @until), blocked = blocked or @blocked
		where digest = @digest and finished is null returning id`
)

// Add adds the erasures to a restored database that lacks them, in the transaction that ends the
// restore. Store.Continue then erases the machines. It returns how many it has added. It returns Conflict
// if the erasures are from another database.
func (r *Record) Add(ctx context.Context, tx pgx.Tx) (added int, err error) {
	if r.Empty() {
		return 0, nil
	}
	key := pgx.NamedArgs{"key": hexBytes(r.key)}
	if _, err := tx.Exec(ctx, sqlTakeKey, key); err != nil {
		return 0, err
	}
	var same bool
	if err := tx.QueryRow(ctx, sqlSameKey, key).Scan(&same); err != nil {
		return 0, err
	}
	if !same {
		return 0, crash.Errorf(crash.Conflict, "erasures_foreign", "The record of erasures is from another database than "+
			"the backup.")
	}
	for _, e := range r.entries {
		reports := make([][]byte, len(e.Reports))
		for i, digest := range e.Reports {
			reports[i] = hexBytes(digest)
		}
		args := pgx.NamedArgs{"digest": hexBytes(e.Digest), "blocked": e.Blocked, "person": e.Person, "via": e.Via,
			"requested": e.Requested, "until": e.Until, "reports": reports}
		var id int64
		err := tx.QueryRow(ctx, sqlAddEntry, args).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) { // the database has it, or another one of the same machine
			err = tx.QueryRow(ctx, sqlExtendUntil, args).Scan(&id)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return added, err
		}
		added++
		args["erasure"] = id
		if _, err := tx.Exec(ctx, sqlAddReports, args); err != nil {
			return added, err
		}
	}
	return added, nil
}

// hexBytes returns the bytes of hexadecimal digits, or nil for other texts.
func hexBytes(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}
