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

func (b *Bug) private() bool {
	return slices.Contains([]string{"Private", "Private Security", "Proprietary", "Embargoed"}, b.InformationType)
}

func (b *Bug) securityRelated() bool {
	return b.InformationType == "Public Security" || b.InformationType == "Private Security"
}

type requestToken struct {
	Key, Secret, Consumer string
	Created               time.Time
	Level                 string // empty: not decided yet
	Context               string
	Person                string // who authorised it; empty: Options.Person
}

type accessToken struct {
	Key, Secret, Consumer, Level, Context, Person string
	Expired                                       bool
	Suspended                                     bool // the person's account is suspended
}

func (t *accessToken) writes() bool {
	return slices.Contains([]string{"WRITE_PUBLIC", "WRITE_PRIVATE", "DESKTOP_INTEGRATION"}, t.Level)
}

// sees reports whether the token shows a bug. Private bugs show only to their reporter and subscribers.
func (t *accessToken) sees(b *Bug) bool {
	if !b.private() {
		return true
	}
	return t != nil && t.seesPrivate() && (b.Reporter == t.Person || slices.Contains(b.Subscribers, t.Person))
}

func (t *accessToken) seesPrivate() bool {
	return slices.Contains([]string{"READ_PRIVATE", "WRITE_PRIVATE", "DESKTOP_INTEGRATION"}, t.Level)
}

// firstBug is the number of the first bug.
const firstBug = 2100001

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
	for _, b := range st.Bugs {
		if b.Number == number {
			return b
		}
	}
	return nil
}

func (st *state) nextBug() int64 {
	if len(st.Bugs) == 0 {
		return firstBug
	}
	return st.Bugs[len(st.Bugs)-1].Number + 1
}

func (st *state) knows(consumer string) bool { return slices.Contains(st.Consumers, consumer) }

func (st *state) request(key string) *requestToken {
	for _, t := range st.RequestTokens {
		if t.Key == key {
			return t
		}
	}
	return nil
}

func (st *state) access(consumer, key string) *accessToken {
	for _, t := range st.AccessTokens {
		if t.Key == key && t.Consumer == consumer {
			return t
		}
	}
	return nil
}

const tokenAlphabet = "0123456789bcdfghjklmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ"

// newKey returns a random key of n characters from Launchpad's alphabet.
func newKey(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = tokenAlphabet[int(b[i])%len(tokenAlphabet)]
	}
	return string(b)
}
