package trackertest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// state is everything that the tracker stores.
type state struct {
	Consumers     []string
	RequestTokens []*requestToken
	AccessTokens  []*accessToken
	Bugs          []*Bug
}

// Bug is a bug of the practice tracker.
type Bug struct {
	Number          int64
	Title           string
	Description     string
	Tags            []string
	InformationType string
	Reporter        string
	Distribution    string
	Package         string // source package; empty: the distribution itself
	Status          string
	DuplicateOf     int64 // 0: not a duplicate
	Created         time.Time
	Subscribers     []string

	Importance string // empty: Undecided
	Assignee   string // name of an account; empty: nobody
	Milestone  string
	Closed     time.Time // when Status became a complete one
	Updated    time.Time // last change; zero: none
	Series     []SeriesTask
	Messages   []Message // comments, without the description
}

// Message is a comment on a bug. The description is the first message.
type Message struct {
	Owner   string
	Content string
	Created time.Time
}

// SeriesTask is the state of a bug in one series of its distribution.
type SeriesTask struct {
	Series string // codename
	Status string
	Closed time.Time
}

// Janitor is the name of the tracker's own account.
const Janitor = "janitor"

// Janitor closes a bug as an upload would. It adds a message that names the version and the series.
func (b *Bug) Janitor(version, series string) {
	b.Status = "Fix Released"
	b.Messages = append(b.Messages, Message{Owner: Janitor, Content: fmt.Sprintf(
		"This bug was fixed in the package %s - %s\n\n---------------\n%s (%s) %s; urgency=medium\n\n  * Practice makes "+
			"perfect.\n",
		b.Package, version, b.Package, version, series)})
}

func (b *Bug) private() bool {
	return slices.Contains([]string{"Private", "Private Security", "Proprietary", "Embargoed"}, b.InformationType)
}

func (b *Bug) updated() time.Time {
	if b.Updated.After(b.Created) {
		return b.Updated
	}
	return b.Created
}

// settle updates the dates after a change.
func (b *Bug) settle(before Bug, now time.Time) {
	b.Updated = now
	b.Closed = closing(b.Closed, before.Status, b.Status, now)
	for i := range b.Series {
		was := ""
		if i < len(before.Series) {
			was = before.Series[i].Status
		}
		b.Series[i].Closed = closing(b.Series[i].Closed, was, b.Series[i].Status, now)
	}
	for i := range b.Messages {
		if b.Messages[i].Created.IsZero() {
			b.Messages[i].Created = now
		}
	}
}

func closing(closed time.Time, before, status string, now time.Time) time.Time {
	switch {
	case !slices.Contains(complete, status):
		return time.Time{}
	case status != before || closed.IsZero():
		return now
	}
	return closed
}

// copied returns a copy that shares no lists with b.
func (b *Bug) copied() Bug {
	c := *b
	c.Tags, c.Subscribers = slices.Clone(b.Tags), slices.Clone(b.Subscribers)
	c.Series, c.Messages = slices.Clone(b.Series), slices.Clone(b.Messages)
	return c
}

type requestToken struct {
	Key, Secret, Consumer string
	Created               time.Time
	Level                 string // empty: not decided yet
	Person                string // who authorised it
}

type accessToken struct {
	Key, Secret, Consumer, Level, Person string
	Expired                              bool
	Suspended                            bool // the person's account is suspended
}

// writes reports whether the token permits changes. A nil token is anonymous.
func (t *accessToken) writes() bool {
	return t != nil && slices.Contains([]string{"WRITE_PUBLIC", "WRITE_PRIVATE", desktop.Value}, t.Level)
}

// sees reports whether the token shows a bug. Private bugs show only to their reporter and subscribers.
func (t *accessToken) sees(b *Bug) bool {
	if !b.private() {
		return true
	}
	return t != nil && slices.Contains([]string{"READ_PRIVATE", "WRITE_PRIVATE", desktop.Value}, t.Level) &&
		(b.Reporter == t.Person || slices.Contains(b.Subscribers, t.Person))
}

func (st *state) load(file string) error {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, st); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// save replaces the file atomically.
func (st *state) save(file string) error {
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(st, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*") // mode 0600: it contains tokens
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

func (st *state) bug(number int64) *Bug {
	return find(st.Bugs, func(b *Bug) bool { return b.Number == number })
}

func (st *state) nextBug() int64 {
	if len(st.Bugs) == 0 {
		return 2100001
	}
	return st.Bugs[len(st.Bugs)-1].Number + 1
}

func (st *state) register(consumer string) {
	if !slices.Contains(st.Consumers, consumer) {
		st.Consumers = append(st.Consumers, consumer)
	}
}

func (st *state) request(key string) *requestToken {
	return find(st.RequestTokens, func(t *requestToken) bool { return t.Key == key })
}

func (st *state) access(consumer, key string) *accessToken {
	return find(st.AccessTokens, func(t *accessToken) bool { return t.Key == key && t.Consumer == consumer })
}

// find returns the first item for which match returns true, or nil.
func find[T any](list []*T, match func(*T) bool) *T {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i]
	}
	return nil
}

// newKey returns a random key of n characters from Launchpad's alphabet.
func newKey(n int) string {
	const alphabet = "0123456789bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ"
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}
