package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// maxFollows is the maximum number of follows of one person.
const maxFollows = 500

// visitGap is the minimum time between two looks that count as two visits.
const visitGap = 30 * time.Minute

var errFollowsTooMuch = crash.Errorf(crash.Conflict, "follows_too_much", "You follow %d things already; stop "+
	"following one first.", maxFollows)

const (
	sqlFollow = `
		insert into followed (user_id, kind, name, since)
		select @user, @kind, @name, @now where (select count(*) from followed where user_id = @user) < @most
		on conflict do nothing returning true`
	// sqlFollows omits searches that were deleted, or that the person cannot see any more.
	sqlFollows = `
		select kind, name, since from followed as f
		where user_id = @user and (kind <> 'search' or exists (
			select from saved_searches as s
			where s.id::text = f.name and s.deleted is null and (s.user_id = f.user_id or s.shared)))
		order by kind, name`
	// whichFollowed selects what a person follows under a name. For a problem, that is the id of any of its
	// buckets: who follows a problem that is merged into another one follows that one from then on.
	whichFollowed = `
		from followed where user_id = @user and kind = @kind and (name = @name or name in (
			select encode(id, 'hex') from buckets where head = (
				select head from buckets where id = case when @kind = 'problem' then decode(@name, 'hex') end)))`
	sqlIsFollowed = `select exists (select ` + whichFollowed + `)`
	sqlUnfollow   = `delete ` + whichFollowed
	sqlVisit      = `
		insert into follow_visits as v (user_id, last) values (@user, @now)
		on conflict (user_id) do update set
			seen = case when excluded.last > v.last + @gap::interval then v.last else v.seen end,
			last = greatest(v.last, excluded.last)
		returning seen, last`
	sqlSeen = `
		insert into follow_visits (user_id, seen, last) values (@user, @seen, @now)
		on conflict (user_id) do update set seen = excluded.seen`
	sqlLockVisit = `select seen from follow_visits where user_id = @user for update`
	sqlArrived   = `
		select w.id from unnest(@ids::bytea[]) as w (id)
		where not exists (
			select from buckets as m cross join lateral (
				select from reports where bucket_id = m.id and received >= @here and received <= @since limit 1
			) as r where m.head = w.id
		) and not exists (
			select from buckets as m join bucket_arrivals as a on a.bucket_id = m.id where m.head = w.id
				and a.at <= @since and a.at < @here)`
)

// Follow makes a person follow f. It does nothing if they follow it already. It returns Conflict if
// the person already follows the maximum number of things.
func (a *Store) Follow(ctx context.Context, user int64, f crash.Follow) error {
	args := pgx.NamedArgs{"user": user, "kind": f.Kind, "name": f.Name, "now": a.store.Now(), "most": maxFollows}
	if f.Kind == crash.FollowProblem { // perhaps by another of its buckets
		if does, err := a.Follows(ctx, user, f); err != nil || does {
			return err
		}
	}
	var done bool
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlFollow, args).Scan(&done); err != nil {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "follow.add", Subject: followObject(f),
			Before: map[string]any{"followed": false}, After: map[string]any{"followed": true}})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		if done, err = a.Follows(ctx, user, f); err == nil && !done {
			return errFollowsTooMuch
		}
	}
	return db.Wrap(err, "follow")
}

// Unfollow makes a person no longer follow f. It does nothing if they do not follow it.
func (a *Store) Unfollow(ctx context.Context, user int64, f crash.Follow) error {
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlUnfollow, pgx.NamedArgs{"user": user, "kind": f.Kind, "name": f.Name})
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return a.store.Audit(ctx, tx, db.AuditEvent{Action: "follow.remove", Subject: followObject(f),
			Before: map[string]any{"followed": true}, After: map[string]any{"followed": false}})
	})
	return db.Wrap(err, "unfollow")
}

// Follows reports whether a person follows f.
func (a *Store) Follows(ctx context.Context, user int64, f crash.Follow) (does bool, err error) {
	args := pgx.NamedArgs{"user": user, "kind": f.Kind, "name": f.Name}
	err = a.store.Pool.QueryRow(ctx, sqlIsFollowed, args).Scan(&does)
	return does, db.Wrap(err, "is followed")
}

// Followed returns what a person follows, sorted by kind and name, without deleted searches:
// restoring a search restores its follows, too.
func (a *Store) Followed(ctx context.Context, user int64) ([]crash.Follow, error) {
	follows, err := db.List(ctx, a.store.Pool, sqlFollows, pgx.NamedArgs{"user": user},
		db.Into(func(f *crash.Follow) []any { return []any{&f.Kind, &f.Name, &f.Since} }))
	return follows, db.Wrap(err, "followed")
}

// Visit records that a person looks at the problems that they follow, and returns the visit.
func (a *Store) Visit(ctx context.Context, user int64) (v crash.Visit, err error) {
	args := pgx.NamedArgs{"user": user, "now": a.store.Now(), "gap": visitGap}
	err = a.store.Pool.QueryRow(ctx, sqlVisit, args).Scan(db.OrZero(&v.Seen), &v.Last)
	return v, db.Wrap(err, "visit")
}

// SetSeen marks reports that arrived up to a time as seen by a person, and returns the previous
// time. A zero time marks nothing as new.
func (a *Store) SetSeen(ctx context.Context, user int64, seen time.Time) (before time.Time, err error) {
	args := pgx.NamedArgs{"user": user, "seen": db.OrNull(seen), "now": a.store.Now()}
	err = a.store.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlLockVisit, args).Scan(db.OrZero(&before)); err != nil &&
			!errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return db.Exec(ctx, tx, args, sqlSeen)
	})
	return before, db.Wrap(err, "mark as seen")
}

// ArrivedSince returns those of the problems whose reports all arrived after a time.
func (a *Store) ArrivedSince(ctx context.Context, ids []crash.BucketID, since time.Time) ([]crash.BucketID, error) {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = id[:]
	}
	parts, err := a.store.Archived(ctx)
	if err != nil {
		return nil, err
	}
	arrived, err := db.List(ctx, a.store.Pool, sqlArrived, pgx.NamedArgs{"ids": keys, "since": since,
		"here": parts.Until()}, pgx.RowTo[crash.BucketID])
	return arrived, db.Wrap(err, "arrived since")
}

// followObject returns the object of records about following something: the problem itself, so that all
// records about it have the same object.
func followObject(f crash.Follow) string {
	if f.Kind == crash.FollowProblem {
		return f.Name
	}
	return f.String()
}

const (
	sqlMarks = `
		select kind, name, bucket_id, mark, news, at from follow_marks where user_id = @user
		order by kind, name, bucket_id`
	sqlDropMarks = `
		delete from follow_marks as m
			using unnest(@kinds::text[], @names::text[], @buckets::bytea[]) as d (kind, name, bucket)
		where m.user_id = @user and m.kind = d.kind and m.name = d.name and m.bucket_id = d.bucket`
	// sqlSaveMarks ignores marks of what the person does not follow any more.
	sqlSaveMarks = `
		insert into follow_marks (user_id, kind, name, bucket_id, mark, news, at)
		select f.user_id, f.kind, f.name, n.bucket, n.mark, n.news, n.at
		from unnest(@kinds::text[], @names::text[], @buckets::bytea[], @marks::text[], @news::text[], @ats::timestamptz[])
				as n (kind, name, bucket, mark, news, at)
			join followed as f on f.user_id = @user and f.kind = n.kind and f.name = n.name
		on conflict (user_id, kind, name, bucket_id) do update set
			mark = excluded.mark, news = excluded.news, at = excluded.at`
)

// Marks returns what a person has seen of the problems and searches that they follow.
func (a *Store) Marks(ctx context.Context, user int64) ([]crash.FollowMark, error) {
	marks, err := db.List(ctx, a.store.Pool, sqlMarks, pgx.NamedArgs{"user": user},
		db.Into(func(m *crash.FollowMark) []any {
			return []any{&m.Kind, &m.Name, &m.Bucket, &m.Mark, &m.News, db.OrZero(&m.At)}
		}))
	return marks, db.Wrap(err, "marks")
}

// SaveMarks stores marks of a person, and deletes others.
func (a *Store) SaveMarks(ctx context.Context, user int64, save, drop []crash.FollowMark) error {
	if len(save)+len(drop) == 0 {
		return nil
	}
	err := a.store.InTx(ctx, func(tx pgx.Tx) error {
		for _, step := range []struct {
			sql   string
			marks []crash.FollowMark
		}{{sqlDropMarks, drop}, {sqlSaveMarks, save}} {
			if len(step.marks) == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, step.sql, markArgs(user, step.marks)); err != nil {
				return err
			}
		}
		return nil
	})
	return db.Wrap(err, "save marks")
}

func markArgs(user int64, marks []crash.FollowMark) pgx.NamedArgs {
	n := len(marks)
	kinds, names, buckets := make([]string, n), make([]string, n), make([][]byte, n)
	texts, news, ats := make([]string, n), make([]string, n), make([]*time.Time, n)
	for i, m := range marks {
		kinds[i], names[i], buckets[i] = string(m.Kind), m.Name, m.Bucket[:]
		texts[i], news[i], ats[i] = m.Mark, m.News, db.OrNull(m.At)
	}
	return pgx.NamedArgs{"user": user, "kinds": kinds, "names": names, "buckets": buckets, "marks": texts, "news": news,
		"ats": ats}
}

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
	var notes []crash.Note
	var n crash.Note
	var t crash.NoteText
	err := db.Each(ctx, a.store.Pool, sqlNotes, pgx.NamedArgs{"bucket": bucket[:]},
		[]any{&n.ID, &n.Bucket, &n.Written, &n.Person, &t.At, &t.Person, &t.Text},
		func() {
			if len(notes) == 0 || notes[len(notes)-1].ID != n.ID {
				notes = append(notes, n)
			}
			last := &notes[len(notes)-1]
			last.Texts = append(last.Texts, t)
		})
	return notes, db.Wrap(err, "notes of %s", bucket)
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
	return id, db.Wrap(err, "note about %s", bucket)
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
	return db.WrapOr(err, errUnknownNote, "change note %d", id)
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
	embargoed, err := db.List(ctx, a.store.Pool, sqlEmbargoSources, pgx.NamedArgs{"bucket": bucket[:]}, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("embargo of %s: %w", bucket, db.Classify(err))
	}
	users, err := db.List(ctx, a.store.Pool, sqlMentionable, a.withRights(pgx.NamedArgs{"begins": begins,
		"limit": maxMentionable}), a.scanUser)
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
	var typed, name string
	err := db.Each(ctx, a.store.Pool, sqlNamed, pgx.NamedArgs{"names": names}, []any{&typed, &name}, func() {
		known[typed] = name
	})
	return known, db.Wrap(err, "names of accounts")
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
	users, err := db.List(ctx, tx, sqlMentioned, pgx.NamedArgs{"names": names, "person": person}, pgx.RowTo[int64])
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

// Read says that a person has read a problem.
type Read struct {
	Reason crash.NewsReason // why it was in the list of new problems
	At     time.Time        // zero: not at all
}

const (
	sqlReads    = `select bucket_id, reason, at from problem_reads where user_id = @user`
	sqlMarkRead = `
		insert into problem_reads as r (user_id, bucket_id, reason, at)
		select @user, n.bucket, n.reason, @now from unnest(@buckets::bytea[], @reasons::text[]) as n (bucket, reason)
		on conflict (user_id, bucket_id) do update set reason = excluded.reason, at = excluded.at
		where r.reason <> excluded.reason`
	sqlMarkUnread = `delete from problem_reads where user_id = @user and bucket_id = any (@buckets::bytea[])`
)

// Reads returns the problems that a person has read.
func (a *Store) Reads(ctx context.Context, user int64) (map[crash.BucketID]Read, error) {
	reads := map[crash.BucketID]Read{}
	var id crash.BucketID
	var read Read
	err := db.Each(ctx, a.store.Pool, sqlReads, pgx.NamedArgs{"user": user},
		[]any{&id, &read.Reason, &read.At}, func() { reads[id] = read })
	return reads, db.Wrap(err, "problems read")
}

// MarkRead records that a person has read problems, for the given reasons.
func (a *Store) MarkRead(ctx context.Context, user int64, reasons map[crash.BucketID]crash.NewsReason) error {
	if len(reasons) == 0 {
		return nil
	}
	var ids [][]byte
	var texts []string
	for id, reason := range reasons {
		ids, texts = append(ids, id[:]), append(texts, string(reason))
	}
	args := pgx.NamedArgs{"user": user, "buckets": ids, "reasons": texts, "now": a.store.Now()}
	return db.Wrap(db.Exec(ctx, a.store.Pool, args, sqlMarkRead), "mark as read")
}

// MarkUnread undoes MarkRead.
func (a *Store) MarkUnread(ctx context.Context, user int64, ids []crash.BucketID) error {
	keys := make([][]byte, len(ids))
	for i, id := range ids {
		keys[i] = id[:]
	}
	args := pgx.NamedArgs{"user": user, "buckets": keys}
	return db.Wrap(db.Exec(ctx, a.store.Pool, args, sqlMarkUnread), "mark as unread")
}
