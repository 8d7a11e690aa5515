package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlNotes = `
		select n.id, n.bucket_id, n.written, n.person, t.at, t.person, t.text
		from notes as n join note_texts as t on t.note_id = n.id
		where n.bucket_id in ` + db.Members + ` order by n.id, t.id`
	sqlInsertNote = `
		insert into notes (bucket_id, written, person)
		select head, @at, @person from buckets where id = @bucket returning id`
	sqlLockNote = `
		select (select text from note_texts where note_id = n.id order by id desc limit 1) from notes as n
		where n.id = @id and n.bucket_id in ` + db.Members + ` for update`
	sqlInsertText = `insert into note_texts (note_id, at, person, text) values (@id, @at, @person, @text)`
)

// Notes returns the notes about a bucket's problem, oldest first, each with all its versions. It
// includes deleted notes.
func (a *Store) Notes(ctx context.Context, bucket crash.BucketID) ([]crash.Note, error) {
	rows, err := a.store.Pool.Query(ctx, sqlNotes, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("notes of %s: %w", bucket, db.Classify(err))
	}
	var notes []crash.Note
	var n crash.Note
	var t crash.NoteText
	_, err = pgx.ForEachRow(rows, []any{&n.ID, db.ScanTo(n.Bucket[:]), &n.Written, &n.Person, &t.At, &t.Person, &t.Text},
		func() error {
			if len(notes) == 0 || notes[len(notes)-1].ID != n.ID {
				notes = append(notes, n)
			}
			last := &notes[len(notes)-1]
			last.Texts = append(last.Texts, t)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("notes of %s: %w", bucket, db.Classify(err))
	}
	return notes, nil
}

var (
	errEmptyNote   = crash.Errorf(crash.Invalid, "empty_note", "The note is empty. Write something first.")
	errUnknownNote = crash.Errorf(crash.NotFound, "unknown_note", "There is no such note.")
)

// AddNote adds a note to a problem, and publishes an event to each account that it names (@anna).
// It returns Invalid for an empty or malformed text, and NotFound for an unknown bucket.
func (a *Store) AddNote(ctx context.Context, bucket crash.BucketID, text, person string) (id int64, err error) {
	if text, err = crash.CleanNote(text); err != nil {
		return 0, err
	}
	if text == "" {
		return 0, errEmptyNote
	}
	args := pgx.NamedArgs{"bucket": bucket[:], "person": person, "at": a.store.Now(), "text": text}
	err = a.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlInsertNote, args).Scan(&id); err != nil {
			return err
		}
		args["id"] = id
		if _, err := tx.Exec(ctx, sqlInsertText, args); err != nil {
			return err
		}
		if err := a.auditNote(ctx, tx, "note.add", bucket, id, person); err != nil {
			return err
		}
		return mention(ctx, a.store, tx, bucket, id, "", text, person)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, crash.ErrUnknownBucket
	}
	if err != nil {
		return 0, fmt.Errorf("note about %s: %w", bucket, err)
	}
	return id, nil
}

// ChangeNote replaces the text of a note, or deletes the note if text is empty. Its history keeps
// the previous texts. It publishes an event to each account that the note did not name before. It
// does nothing if the text is the same. It returns Invalid for a malformed text, and NotFound if
// the problem has no such note.
func (a *Store) ChangeNote(ctx context.Context, bucket crash.BucketID, id int64, text, person string) error {
	text, err := crash.CleanNote(text)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"bucket": bucket[:], "id": id, "person": person, "at": a.store.Now(), "text": text}
	err = a.store.InTx(ctx, func(tx pgx.Tx) error {
		var before string
		if err := tx.QueryRow(ctx, sqlLockNote, args).Scan(&before); err != nil || before == text {
			return err
		}
		if _, err := tx.Exec(ctx, sqlInsertText, args); err != nil {
			return err
		}
		if err := a.auditNote(ctx, tx, "note.change", bucket, id, person); err != nil {
			return err
		}
		return mention(ctx, a.store, tx, bucket, id, before, text, person)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return errUnknownNote
	}
	if err != nil {
		return fmt.Errorf("change note %d: %w", id, err)
	}
	return nil
}

// auditNote records that somebody wrote a text of a note, which the history of the note has.
func (a *Store) auditNote(ctx context.Context, tx pgx.Tx, action string, bucket crash.BucketID, id int64,
	person string) error {
	return a.store.Audit(ctx, tx, db.AuditEvent{Person: person, Action: action, Subject: bucket.String(),
		Detail: map[string]any{"note": id}})
}

const (
	sqlNamed = `
		select n.name, u.name from unnest(@names::text[]) as n (name) join users as u on lower(u.name) = lower(n.name)`
	sqlMentioned = `
		select distinct u.id from unnest(@names::text[]) as n (name) join users as u on lower(u.name) = lower(n.name)
		where not u.disabled and lower(u.name) <> lower(@person) order by u.id`
	sqlEmbargoSources = `
		select distinct b.source_package from marks as e join buckets as b on b.id = e.bucket_id
		where e.bucket_id in ` + db.Members + ` and e.kind = 'embargo' and e.undone_at is null`
	sqlMentionable = `
		select ` + userColumns + ` from users as u
		where not u.disabled and lower(left(u.name, length(@begins))) = lower(@begins)
		order by lower(u.name) limit @limit`
)

// maxMentionable is the number of accounts that Mentionable examines. Only accounts without rights
// count without being returned.
const maxMentionable = 200

// Mentionable returns up to limit names of accounts that begin with a text, regardless of case,
// sorted. These are the accounts that a note about a problem can reach: they are not disabled, have
// a role and, if the problem is embargoed, may see it.
func (a *Store) Mentionable(ctx context.Context, bucket crash.BucketID, begins string, limit int) ([]string, error) {
	rows, err := a.store.Pool.Query(ctx, sqlEmbargoSources, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("embargo of %s: %w", bucket, db.Classify(err))
	}
	embargoed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("embargo of %s: %w", bucket, db.Classify(err))
	}
	rows, err = a.store.Pool.Query(ctx, sqlMentionable, a.withRights(pgx.NamedArgs{"begins": begins,
		"limit": maxMentionable}))
	if err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	users, err := pgx.CollectRows(rows, a.scanUser)
	if err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	var names []string
	for _, u := range users {
		hidden := slices.ContainsFunc(embargoed, func(source string) bool { return !u.Embargoed.Include(source) })
		if u.Role.Allows(crash.RoleViewer) && !hidden && len(names) < limit {
			names = append(names, u.Name)
		}
	}
	return names, nil
}

// Named returns which names are those of accounts, whatever their case, with the names of the
// accounts.
func (a *Store) Named(ctx context.Context, names []string) (map[string]string, error) {
	known := map[string]string{}
	if len(names) == 0 {
		return known, nil
	}
	rows, err := a.store.Pool.Query(ctx, sqlNamed, pgx.NamedArgs{"names": names})
	if err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	var typed, name string
	if _, err := pgx.ForEachRow(rows, []any{&typed, &name}, func() error {
		known[typed] = name
		return nil
	}); err != nil {
		return nil, fmt.Errorf("names of accounts: %w", db.Classify(err))
	}
	return known, nil
}

// mention publishes an event to each account that the text of a note names and the text before did
// not. An account gets at most one event for each note. The events do not contain the text: notes
// are for people who are signed in.
func mention(ctx context.Context, store *db.Store, tx pgx.Tx, bucket crash.BucketID, note int64, before, text,
	person string) error {
	var names []string
	old := crash.Mentions(before)
	for _, m := range crash.Mentions(text) {
		if !slices.ContainsFunc(old, func(o crash.Mention) bool { return strings.EqualFold(o.Name, m.Name) }) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, sqlMentioned, pgx.NamedArgs{"names": names, "person": person})
	if err != nil {
		return fmt.Errorf("accounts in note %d: %w", note, db.Classify(err))
	}
	users, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(users) == 0 {
		return db.Classify(err)
	}
	e, err := store.LockProblem(ctx, tx, bucket)
	if err != nil {
		return err
	}
	e.Kind, e.Text = crash.EventMentioned, fmt.Sprintf("%s mentioned you in a note about %s.", person, e.Title)
	for _, user := range users {
		e.Edge = fmt.Sprintf("mentioned:%d:%d", note, user)
		to := crash.Recipients{People: []crash.Recipient{{User: user, Reason: "a note names you"}}}
		if _, err := store.Publish(ctx, tx, e, to); err != nil {
			return err
		}
	}
	return nil
}
