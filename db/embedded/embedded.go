// Package embedded runs a private PostgreSQL from server programs that are installed on the
// machine, so that mishap needs no database set-up. The server listens only on a Unix socket.
//
// Several processes may use one data directory at the same time. The first one owns the server: it
// starts it, restarts it after a crash, and stops it when it ends, after the others have finished.
// The others attach. If the owner is killed, the server stops by itself, and the next process
// recovers the database.
//
// This package is not used if database_url is set.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"mishap/crash"
)

// Config contains the settings of a private PostgreSQL.
type Config struct {
	DataDir   string // mishap's data directory; the server's files are in DataDir/postgres
	Exclusive bool   // for serve: no other process may be exclusive on the same DataDir
	Throwaway bool   // for tests: nothing is synced to disk, so a power failure loses everything
	From      *Copy  // the files of a new private PostgreSQL; nil: initdb makes them
	Log       *slog.Logger
}

const (
	// startTimeout limits starting the server, which may have to recover from a crash first, and
	// waiting while another process starts or stops it.
	startTimeout = 5 * time.Minute
	// commandTimeout is how long an exclusive process waits for a command that owns the server.
	commandTimeout = time.Minute
	// userTimeout is how long a stopping exclusive owner waits for commands that use its server.
	userTimeout = 5 * time.Second
	pollEvery   = 10 * time.Millisecond
)

// Server is a running private PostgreSQL, owned by this process or by another one.
type Server struct {
	cfg        Config
	home       home
	socket     string // directory of the Unix socket
	owner      *lockFile
	users      *lockFile
	supervisor *supervisor // nil: another process owns the server

	stop    sync.Once
	stopErr error
}

// Start starts the private PostgreSQL of c.DataDir, or attaches to a running one. ctx limits only
// the start; the server runs until [Server.Stop].
//
// Start returns an error of kind Unavailable if no suitable server programs are installed, and of
// kind Conflict if c.Exclusive is set and another process uses the data directory.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h, err := openHome(ctx, c.DataDir, sharedRoot)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: c, home: h}
	if s.owner, err = openLock(c.DataDir, h.path("owner.lock")); err != nil {
		return nil, err
	}
	if s.users, err = openLock(c.DataDir, h.path("users.lock")); err != nil {
		s.owner.close()
		return nil, err
	}
	if err := s.acquire(ctx); err != nil {
		s.owner.close()
		s.users.close()
		return nil, err
	}
	return s, nil
}

// acquire becomes the owner of the server or attaches to the owner's server.
func (s *Server) acquire(ctx context.Context) error {
	if s.cfg.From == nil { // unpacking and recovering a copy takes as long as its size requires
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startTimeout)
		defer cancel()
	}
	began := time.Now()
	for {
		owned, err := s.owner.tryLock(exclusive)
		if err != nil {
			return err
		}
		if owned {
			return s.startAsOwner(ctx)
		}
		other, ready := readOwner(s.owner)
		switch {
		case s.cfg.Exclusive:
			if other.serves() || time.Since(began) > commandTimeout {
				return inUse(s.cfg.DataDir, other)
			}
		case ready:
			attached, err := s.attach(other)
			if err != nil || attached {
				return err
			}
		}
		if err := crash.Sleep(ctx, pollEvery); err != nil {
			return inUse(s.cfg.DataDir, other).Because(err)
		}
	}
}

// attach becomes a user of the owner's server. It returns false if the owner is stopping the server
// or has ended.
func (s *Server) attach(other owner) (bool, error) {
	joined, err := s.users.tryLock(shared)
	if err != nil || !joined {
		return false, err
	}
	if again, ready := readOwner(s.owner); !ready || again != other {
		s.users.unlock()
		return false, nil
	}
	s.socket = other.socket
	return true, nil
}

// startAsOwner starts the server as its owner.
func (s *Server) startAsOwner(ctx context.Context) error {
	me := owner{pid: os.Getpid(), exclusive: s.cfg.Exclusive}
	if err := me.write(s.owner); err != nil {
		return err
	}
	if s.cfg.From != nil {
		if err := s.home.copyCluster(ctx, s.cfg.From, s.cfg.Throwaway); err != nil {
			return err
		}
	}
	programs, err := findPrograms(ctx, s.home)
	if err != nil {
		return err
	}
	if err := s.home.endOrphans(ctx, s.cfg.Log); err != nil {
		return err
	}
	if err := s.home.makeCluster(ctx, programs, s.cfg.Throwaway); err != nil {
		return err
	}
	if s.socket, err = s.home.socketFolder(); err != nil {
		return err
	}
	s.supervisor = newSupervisor(s.home, programs, s.cfg, s.socket)
	if err := s.supervisor.start(ctx); err != nil {
		return err
	}
	me.socket = s.socket
	if err := me.write(s.owner); err != nil {
		return errors.Join(err, s.supervisor.stop(ctx))
	}
	return nil
}

// URL returns the address of the database, for pgx.
func (s *Server) URL() string {
	q := url.Values{"host": {s.socket}, "port": {socketPort}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database, RawQuery: q.Encode()}
	return u.String()
}

// Dir returns the directory of the server's files and log, usually DataDir/postgres.
func (s *Server) Dir() string { return s.home.dir }

// Notice returns a sentence for people about the location of the files, or "" if they are in the
// data directory.
func (s *Server) Notice() string { return s.home.notice }

// Stop ends the use of the server. The owner waits until no other process uses it (an exclusive
// owner only for userTimeout), then stops it cleanly. If ctx ends first, it stops the server
// immediately; the next start recovers the database. Stop may be called several times.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		if s.supervisor != nil {
			s.awaitUsers(ctx)
			s.stopErr = s.supervisor.stop(ctx)
			_ = os.Remove(s.socket) // the next start creates it again
		}
		s.users.close()
		s.owner.close()
	})
	return s.stopErr
}

// awaitUsers waits until no other process is attached, and prevents others from attaching.
func (s *Server) awaitUsers(ctx context.Context) {
	if s.cfg.Exclusive {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, userTimeout)
		defer cancel()
	}
	for waiting := false; ; {
		alone, err := s.users.tryLock(exclusive)
		if alone || err != nil {
			return
		}
		if !waiting {
			waiting = true
			s.cfg.Log.InfoContext(ctx, "waiting for other mishap commands to finish with the database")
		}
		if crash.Sleep(ctx, pollEvery) != nil {
			return
		}
	}
}

func inUse(dataDir string, other owner) *crash.Error {
	who := "Another mishap"
	if other.pid != 0 {
		who = fmt.Sprintf("Another mishap (process %d)", other.pid)
	}
	return crash.Errorf(crash.Conflict, "data_dir_in_use",
		"%s uses the database in %s; stop it first, or choose another data_dir.", who, dataDir)
}
