// Package embedded runs a private PostgreSQL from the server programs that are installed on the machine, so that nobody
// has to set up a database first. The server listens on a unix socket only.
//
// Several processes may use one data directory at once. The first one owns the server: it starts it, restarts it when it
// dies, and stops it at its end, after the others have finished. The others attach. When the owner is killed, the server
// stops by itself, and whoever comes next recovers what is left behind.
//
// It is not for machines that already have a database for mishap: with database_url set this package is not used.
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

// Config says where the private PostgreSQL lives and who wants it.
type Config struct {
	DataDir   string // mishap's data directory; the server's files go to DataDir/postgres
	Exclusive bool   // for serve: nobody else may be exclusive on the same DataDir
	Throwaway bool   // for tests: nothing is synced to disk, so a power cut loses everything
	Log       *slog.Logger
}

const (
	// startPatience is how long a process waits while another one starts, stops or recovers the server.
	startPatience = 60 * time.Second
	// commandPatience is how long an exclusive user waits for a command that owns the server.
	commandPatience = 15 * time.Second
	// userPatience is how long an exclusive owner that stops waits for commands that still use its server.
	userPatience = 5 * time.Second
	pollEvery    = 10 * time.Millisecond
)

// Server is a running private PostgreSQL, owned by this process or by another one.
type Server struct {
	cfg    Config
	home   home
	socket string // folder of the unix socket
	owner  *lockFile
	users  *lockFile
	keeper *keeper // nil: attached to somebody else's

	stop    sync.Once
	stopErr error
}

// Start starts the private PostgreSQL of c.DataDir, or attaches to the one that runs there. ctx bounds the start only;
// the server runs until [Server.Stop].
//
// It returns Unavailable when no suitable server programs are installed, Conflict when c.Exclusive is set and another
// process stays on the data directory.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	h, err := openHome(ctx, c.DataDir, sharedRoot)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: c, home: h}
	if s.owner, err = openLock(h.path("owner.lock")); err != nil {
		return nil, err
	}
	if s.users, err = openLock(h.path("users.lock")); err != nil {
		s.owner.close()
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		s.owner.close()
		s.users.close()
		return nil, err
	}
	return s, nil
}

// take becomes the owner or attaches to the owner's server.
func (s *Server) take(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	began := time.Now()
	for {
		owned, err := s.owner.tryLock(exclusive)
		if err != nil {
			return err
		}
		if owned {
			return s.own(ctx)
		}
		other, ready := readOwner(s.owner)
		switch {
		case s.cfg.Exclusive:
			if other.serves() || time.Since(began) > commandPatience {
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

// attach joins the users of the owner's server. It reports false when the owner is about to stop it, or is gone.
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

// own starts the server as its owner.
func (s *Server) own(ctx context.Context) error {
	me := owner{pid: os.Getpid(), exclusive: s.cfg.Exclusive}
	if err := me.write(s.owner); err != nil {
		return err
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
	s.keeper = newKeeper(s.home, programs, s.cfg, s.socket)
	if err := s.keeper.start(ctx); err != nil {
		return err
	}
	me.socket = s.socket
	if err := me.write(s.owner); err != nil {
		return errors.Join(err, s.keeper.stop(ctx))
	}
	return nil
}

// URL is the address of the database for pgx.
func (s *Server) URL() string {
	q := url.Values{"host": {s.socket}, "port": {socketPort}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database, RawQuery: q.Encode()}
	return u.String()
}

// Dir is the folder of the server's files and its log; normally DataDir/postgres.
func (s *Server) Dir() string { return s.home.dir }

// Notice is a sentence that a person should see about where the files went; empty when they are in the data directory.
func (s *Server) Notice() string { return s.home.notice }

// Stop ends the use of the server. The owner waits until no other process uses it (an exclusive owner not for long),
// then stops it cleanly; when ctx ends first it is stopped at once, and recovers at the next start. Stop may be called
// more than once.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		if s.keeper != nil {
			s.awaitUsers(ctx)
			s.stopErr = s.keeper.stop(ctx)
			_ = os.Remove(s.socket) // made anew at the next start
		}
		s.users.close()
		s.owner.close()
	})
	return s.stopErr
}

// awaitUsers waits until no other process is attached, and lets no further one in.
func (s *Server) awaitUsers(ctx context.Context) {
	if s.cfg.Exclusive {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, userPatience)
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
