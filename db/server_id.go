package db

import (
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"
)

// serverID identifies the database that an answer came from: the server, by the time when it was started, and the database on
// it. Everything that an instance remembers of the database is remembered together with the serverID, and counts for nothing
// under another one: after a failover or a restored backup the database may lack what an instance has seen in it.
type serverID struct {
	started  serverStart
	database uint32 // the oid
}

// serverStart is a time in microseconds since 1970.
type serverStart int64

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (s *serverStart) ScanTimestamptz(v pgtype.Timestamptz) error {
	*s = serverStart(v.Time.UnixMicro())
	return nil
}

// serverIDColumns select a serverID. They cost a few microseconds, beside other columns of a statement.
const serverIDColumns = `
	pg_postmaster_start_time(), (select oid from pg_database where datname = current_database())`

// sqlServerID asks for nothing else.
const sqlServerID = `select ` + serverIDColumns

func (id serverID) String() string {
	return strconv.FormatInt(int64(id.started), 36) + "." + strconv.FormatUint(uint64(id.database), 36)
}

// stamp says how far the counts of a database have come. Under one serverID, rounds only grow.
type stamp struct {
	server serverID
	round  int64
}

// seen remembers rows that are in the database, so that they need not be written again. It is safe for concurrent use; its
// zero value remembers nothing.
type seen[K comparable, V any] struct {
	most int // how many are remembered; then it begins anew

	mu     sync.Mutex
	server serverID
	rows   map[K]V
}

// find returns what is remembered of a row in a database.
func (s *seen[K, V]) find(server serverID, key K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != server {
		var none V
		return none, false
	}
	v, ok := s.rows[key]
	return v, ok
}

// add remembers rows that are committed in a database, and forgets those of any other.
func (s *seen[K, V]) add(server serverID, rows map[K]V) {
	if len(rows) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil || s.server != server || len(s.rows)+len(rows) > s.most {
		s.server, s.rows = server, make(map[K]V, len(rows))
	}
	for key, value := range rows {
		s.rows[key] = value
	}
}
