// Package sender sends the crash reports of a machine to a server, with the protocol of whoopsie. It
// takes them from the journal, where systemd-coredump describes crashes, and from the files of apport. A
// report waits in a folder, the spool, until the server has it.
package sender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/format/coredump"
)

// Config contains the settings of a Sender.
type Config struct {
	Server     string // from ParseServer
	Machine    Machine
	ID         crash.SystemID
	State      string  // folder for the spool and for what was sent
	Journalctl string  // program; empty: journalctl
	Files      string  // folder of apport's files
	Pstore     string  // folder where systemd-pstore saves logs of the kernel
	Users      []int64 // whose crashes are reported; nil: those of all users, of services and of the kernel
	Agent      string  // User-Agent of requests
	Log        *slog.Logger
	Now        func() time.Time // nil: time.Now
	FirstPause time.Duration    // after the first failure; 0: one minute

	Ping bool // say once a day that the machine is there

	MaxCore        int64  // bytes of a core dump as it is stored, compressed; 0: none is sent
	CoresOnBattery bool   // send core dumps also while the machine runs on its battery
	Power          string // folder of power supplies
}

const maxPause = 2 * time.Hour

// Sender sends reports.
type Sender struct {
	config   Config
	client   client
	spool    spool
	news     chan struct{} // there is something in the spool
	coreNews chan struct{} // the server wants a core dump
	repeats  repeats
}

// New opens the spool.
func New(c Config) (*Sender, error) {
	c = c.withDefaults()
	s, err := openSpool(filepath.Join(c.State, "spool"), c.MaxCore > 0)
	if err != nil {
		return nil, fmt.Errorf("open the spool: %w", err)
	}
	return &Sender{config: c, client: newClient(c.Server, c.ID, c.Agent, c.Now), spool: s,
		news: make(chan struct{}, 1), coreNews: make(chan struct{}, 1)}, nil
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.FirstPause == 0 {
		c.FirstPause = time.Minute
	}
	if c.Journalctl == "" {
		c.Journalctl = "journalctl"
	}
	return c
}

// Run sends reports until stopped is done. It fails if there is neither a journal nor a folder of apport, and
// if journalctl ends. While nothing crashes and the spool is empty, it only waits for the kernel.
func (s *Sender) Run(stopped context.Context) error {
	group, ctx := errgroup.WithContext(stopped)
	sources := 0
	if _, err := exec.LookPath(s.config.Journalctl); err == nil {
		sources++
		group.Go(func() error { return s.followJournal(ctx) })
	}
	if _, err := os.Stat(s.config.Files); err == nil {
		sources++
		group.Go(func() error { return s.followFiles(ctx) })
	}
	if sources == 0 {
		return fmt.Errorf("there are no crashes to report: found neither journalctl nor the folder %s", s.config.Files)
	}
	group.Go(func() error { return s.repeat(ctx, s.news, s.round) })
	if s.config.Ping {
		group.Go(func() error { return s.sendPings(ctx) })
	}
	if s.config.MaxCore > 0 {
		group.Go(func() error { return s.sendCores(ctx) })
	}
	if err := group.Wait(); stopped.Err() == nil {
		return err
	}
	return nil
}

func (s *Sender) followJournal(ctx context.Context) error {
	known, err := openSeen(s.config.State)
	if err != nil {
		return err
	}
	c := crashes{machine: s.config.Machine, seen: known}
	take := func(r report, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.take(r, err)
		if r.uid == kernelUser {
			if err := known.save(); err != nil {
				s.config.Log.Error("cannot store that an oops is done; after a restart, it is sent again", "error", err)
			}
		}
		return nil
	}
	saved, err := pstoreOopses(s.config.Pstore)
	if err != nil {
		s.config.Log.Error("cannot read the saved logs of the kernel", "error", err)
	}
	for _, o := range saved {
		if err := c.takeOops(ctx, o, take); err != nil {
			return err
		}
	}
	j := journal{s.config.Journalctl, s.config.State}
	return j.read(ctx, true, func(e coredump.Entry) error {
		done, err := c.take(ctx, e, take)
		if err != nil || !done {
			return err
		}
		if err := j.moveTo(e.Cursor()); err != nil {
			s.config.Log.Error("cannot store how far the journal is read; after a restart, crashes are sent again",
				"error", err)
		}
		return nil
	})
}

// take stores a crash, or logs why it is not reported.
func (s *Sender) take(r report, err error) {
	if err == nil && !s.config.agreed(r) {
		err = errUser
	}
	if err != nil {
		s.config.Log.Info("a crash is not reported", "reason", err)
		return
	}
	at, err := time.Parse(time.ANSIC, r.fields["Date"])
	if err != nil {
		at = s.config.Now()
	}
	program := cmp.Or(r.fields["ExecutablePath"], r.fields["Package"])
	ok, leftOut := s.repeats.allow(program, at)
	switch {
	case !ok && leftOut == 0:
		s.config.Log.Warn("a program crashes again and again; its next crashes are not reported", "program", program)
	case ok && leftOut > 0:
		s.config.Log.Warn("crashes of a program were not reported", "program", program, "crashes", leftOut)
	}
	if ok {
		s.store(r)
	}
}

var errUser = errors.New("the configuration names its users, and not this one")

// agreed reports whether crashes of this user are reported.
func (c Config) agreed(r report) bool { return c.Users == nil || slices.Contains(c.Users, r.uid) }

func (s *Sender) followFiles(ctx context.Context) error {
	f, err := openFiles(s.config.Files, s.config.State)
	if err != nil {
		return err
	}
	events, err := f.watch()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = events.Close() }) // ends Read
	defer stop()
	defer events.Close() //nolint:errcheck // only read
	buffer := make([]byte, eventsSize)
	for {
		if err := s.storeFiles(f); err != nil {
			return err
		}
		if _, err := events.Read(buffer); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("watch %s: %w", s.config.Files, err)
		}
	}
}

func (s *Sender) storeFiles(f *files) error {
	todo, err := f.pending()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		r, err := f.read(name)
		if errors.Is(err, fs.ErrPermission) { // perhaps later
			s.config.Log.Info("a file is not reported, because this user may not read it", "file", name)
			continue
		}
		s.take(r, err)
		if err := f.finish(name, todo[name]); err != nil {
			s.config.Log.Error("cannot store that a file is done; after a restart, it is sent again", "file", name,
				"error", err)
		}
	}
	return nil
}

// store puts a report into the spool, or drops it if there is no room.
func (s *Sender) store(r report) {
	if s.config.MaxCore == 0 {
		r.core = ""
	}
	if err := s.spool.add(apport.BSON(r.fields), r.core, s.config.Now()); err != nil {
		s.config.Log.Error("a report is lost, because it cannot be stored until it is sent", "program",
			r.fields["ExecutablePath"], "error", err)
		return
	}
	wake(s.news)
}

// wake ends a wait for news.
func wake(news chan<- struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// round sends what waits once. left is true if something remains; after is the pause that the server asks for.
type round func(context.Context) (left bool, after time.Duration, err error)

// repeat runs rounds. Between them, it waits for news or, after a failure, for the time to try again.
func (s *Sender) repeat(ctx context.Context, news <-chan struct{}, send round) error {
	failures := 0
	for {
		left, after, err := send(ctx)
		if err != nil {
			return err
		}
		var retry <-chan time.Time
		next := news
		if left {
			failures++
			retry, next = time.After(max(s.pause(failures), after)), nil
		} else {
			failures = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-retry:
		case <-next:
		}
	}
}

// pause returns how long to wait after some failures in a row: twice as long each time, and somewhat at
// random, so that machines do not come back all at once.
func (s *Sender) pause(failures int) time.Duration {
	pause := min(s.config.FirstPause<<min(failures-1, 20), maxPause)
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // not a secret
}

// round sends each report in the spool once, oldest first, until the server says that it is busy. left is
// true if some remain; after is the pause that the server asks for.
func (s *Sender) round(ctx context.Context) (left bool, after time.Duration, err error) {
	names, _, err := s.spool.list()
	if err != nil {
		return false, 0, err
	}
	for _, name := range names {
		body, err := s.spool.read(name)
		if err != nil {
			return false, 0, err
		}
		o := s.client.post(ctx, body)
		switch {
		case ctx.Err() != nil:
			return true, 0, ctx.Err()
		case o.refuse:
			s.config.Log.Warn("the server refuses a report for good", "answer", o.text)
		case o.done:
			s.config.Log.Info("the server has a report", "answer", o.text)
		// Only now, because the clock may have jumped since the report was stored.
		case expired(name, s.config.Now(), maxWaiting):
			s.config.Log.Error("a report is given up, because the server did not take it for a month", "report", name,
				"answer", o.text)
			o.done = true
		default:
			s.config.Log.Warn("the server does not take a report now; it is sent again", "answer", o.text)
			left, after = true, max(after, o.after)
		}
		if o.core != "" && s.config.MaxCore > 0 {
			if err := s.spool.want(name, o.core); err != nil {
				s.config.Log.Error("cannot store that the server wants a core dump", "error", err)
			}
			wake(s.coreNews)
		}
		if o.done {
			if err := s.spool.remove(name); err != nil {
				return false, 0, err
			}
		}
		if o.busy {
			break
		}
	}
	return left, after, nil
}

// Preview writes the reports that Run would send now, as .crash files: those in the spool, those of the
// journal since it was last read, and those in files. It sends and changes nothing.
func Preview(ctx context.Context, w io.Writer, c Config) (n int, err error) {
	c = c.withDefaults()
	show := func(f crash.Fields) error {
		if n++; n > 1 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		return apport.Write(w, f)
	}
	s := spool{filepath.Join(c.State, "spool")}
	names, _, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	for _, name := range names {
		body, err := s.read(name)
		if err != nil {
			return n, err
		}
		d, err := apport.OpenBSON(body)
		if err != nil {
			return n, err
		}
		fields, _, _ := d.Fields(apport.MaxDecompressed)
		if err := show(fields); err != nil {
			return n, err
		}
	}
	each := func(r report, err error) error {
		if err != nil || !c.agreed(r) {
			return ctx.Err() // the crash is not reported
		}
		return show(r.fields)
	}
	if err := c.previewJournal(ctx, each); err != nil {
		return n, err
	}
	return n, c.previewFiles(each)
}

func (c Config) previewJournal(ctx context.Context, each func(report, error) error) error {
	if _, err := exec.LookPath(c.Journalctl); err != nil {
		return nil //nolint:nilerr // then there is no journal
	}
	known, err := openSeen(c.State)
	if err != nil {
		return err
	}
	all := crashes{machine: c.Machine, seen: known}
	saved, err := pstoreOopses(c.Pstore)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	err = journal{c.Journalctl, c.State}.read(ctx, false, func(e coredump.Entry) error {
		_, err := all.take(ctx, e, each)
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range append(saved, all.kernel.finish()) {
		if o != nil {
			if err := all.takeOops(ctx, o, each); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Config) previewFiles(each func(report, error) error) error {
	f, err := openFiles(c.Files, c.State)
	if err != nil {
		return err
	}
	todo, err := f.pending()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		if err := each(f.read(name)); err != nil {
			return err
		}
	}
	return nil
}
