package send

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mishap/crash/sender"
)

// configFile is the configuration. It is the agreement to send reports: without it, nothing is sent.
const configFile = "/etc/mishap/send.toml"

// settings are the keys of the configuration.
type settings struct {
	Server string `toml:"server"`
}

// load reads the configuration.
func load(file string) (s settings, err error) {
	doc, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("nothing is sent, because %s does not exist; to agree, write into it: "+
			`server = "https://crashes.example.org"`, file)
	}
	if err != nil {
		return s, err
	}
	err = toml.NewDecoder(bytes.NewReader(doc)).DisallowUnknownFields().Decode(&s)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		return s, fmt.Errorf("%s:%d: unknown key %q", file, line, strings.Join(strict.Errors[0].Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		return s, fmt.Errorf("%s:%d: %s", file, line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	if s.Server == "" {
		return s, fmt.Errorf(`%s: the key server is missing; add server = "https://…"`, file)
	}
	if s.Server, err = sender.ParseServer(s.Server); err != nil {
		return s, fmt.Errorf("%s: server: %w", file, err)
	}
	return s, nil
}
