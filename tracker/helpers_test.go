package tracker_test

import (
	"context"
	"errors"
	"sync"

	"mishap/crash"
	"mishap/tracker"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code
	}
	return ""
}

func asCall(err error) *tracker.CallError {
	e, _ := errors.AsType[*tracker.CallError](err)
	return e
}

// memory stores one token, for tests of single calls that need no database.
type memory struct {
	mu     sync.Mutex
	saved  crash.SavedToken
	health map[string]crash.TokenHealth
	writes int
}

func newMemory() *memory { return &memory{health: map[string]crash.TokenHealth{}} }

func (m *memory) SavedToken(context.Context, crash.TrackerKey) (crash.SavedToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saved, nil
}

func (m *memory) SaveToken(_ context.Context, _ crash.TrackerKey, token crash.AccessToken, person string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = crash.SavedToken{AccessToken: token, Person: person}
	return nil
}

func (m *memory) SaveConfiguredToken(context.Context, crash.TrackerKey, crash.AccessToken) error {
	return nil
}

func (m *memory) ForgetToken(context.Context, crash.TrackerKey, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = crash.SavedToken{}
	return nil
}

func (m *memory) TokenHealth(_ context.Context, _ crash.TrackerKey, token string) (crash.TokenHealth, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health[token], nil
}

func (m *memory) TrackerAccounts(context.Context, crash.TrackerKey) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, h := range m.health {
		out = append(out, h.Account)
	}
	return out, nil
}

func (m *memory) SaveTokenHealth(_ context.Context, _ crash.TrackerKey, token string, h crash.TokenHealth) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.health[token] = h
	m.writes++
	return nil
}
