package issuetest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"mishap/crash"
)

// Memory stores access tokens and their health in memory, as package db/bugs does in the database. The zero value
// is ready to use. It is safe for concurrent use.
type Memory struct {
	Former []string // accounts that earlier tokens acted for

	mu     sync.Mutex
	saved  crash.SavedToken
	health map[string]crash.TokenHealth
}

// SavedToken returns the token that SaveToken saved.
func (m *Memory) SavedToken(context.Context, crash.TrackerKey) (crash.SavedToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.saved, nil
}

// SaveToken saves a token.
func (m *Memory) SaveToken(_ context.Context, _ crash.TrackerKey, token crash.AccessToken, person string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = crash.SavedToken{AccessToken: token, Person: person}
	return nil
}

// SaveConfiguredToken does nothing: there are no other instances.
func (m *Memory) SaveConfiguredToken(context.Context, crash.TrackerKey, crash.AccessToken) error {
	return nil
}

// ForgetToken deletes the saved token.
func (m *Memory) ForgetToken(context.Context, crash.TrackerKey, string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saved = crash.SavedToken{}
	return nil
}

// TokenHealth returns the health of a token.
func (m *Memory) TokenHealth(_ context.Context, _ crash.TrackerKey, token string) (crash.TokenHealth, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health[token], nil
}

// TrackerAccounts returns the accounts of all tokens so far, and the former ones.
func (m *Memory) TrackerAccounts(context.Context, crash.TrackerKey) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	accounts := slices.Clone(m.Former)
	for _, token := range slices.Sorted(maps.Keys(m.health)) {
		accounts = append(accounts, m.health[token].Account)
	}
	return accounts, nil
}

// SaveTokenHealth saves the health of a token.
func (m *Memory) SaveTokenHealth(
	_ context.Context, _ crash.TrackerKey, token string, h crash.TokenHealth,
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.health == nil {
		m.health = map[string]crash.TokenHealth{}
	}
	m.health[token] = h
	return nil
}
