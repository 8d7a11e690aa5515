// Package problems stores what people decide about problems, who takes care of them and their tags, and
// saved searches. It reads stored counts for charts, comparisons and the API, and lists the reports of a
// problem or a machine. Package db counts reports and stores them.
package problems

import (
	"sync"

	"mishap/db"
)

// Store stores decisions about problems and reads their counts. It is safe for concurrent use.
type Store struct {
	*db.Store

	mu      sync.Mutex
	checked map[int64]int64 // round of the counts with which a standing mute was checked last, by id
}

// New returns a Store for the problems in s.
func New(s *db.Store) *Store { return &Store{Store: s, checked: map[int64]int64{}} }
