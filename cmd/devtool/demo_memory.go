package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// memory is the stored state of the demonstration.
type memory struct {
	Password string    // of the demo account; empty: not created yet
	SeedTime time.Time // the day on which the sample reports are based
	Seeded   bool      // all sample reports are stored

	BugsSeeded bool // the sample bugs are filed and linked
	Named      bool // the native crash has its function names
	Granted    bool // the teams of the practice provider have roles

	file string
}

func readMemory(file string) (*memory, error) {
	m := &memory{file: file}
	doc, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(doc, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it to start again", file, err)
	}
	return m, nil
}

func (m *memory) write() error {
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(m.file, append(doc, '\n'), 0o600)
}

// variable returns the value of an environment variable, the last one if it is set twice.
func variable(environ []string, name string) string {
	value := ""
	for _, v := range environ {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text
		}
	}
	return value
}
