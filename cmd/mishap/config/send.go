package config

import (
	"fmt"
	"os"

	"github.com/pelletier/go-toml/v2/unstable"
)

// SendFile is the configuration of "mishap send".
const SendFile = "/etc/mishap/send.toml"

// LoadSend reads the server from the configuration of "mishap send". It is the only key.
func LoadSend(file string) (server string, err error) {
	doc, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	wrong := func(line int, what string) { err = fmt.Errorf("%s:%d: %s", file, line, what) }
	broken := walkTOML(doc, func(e expression) {
		switch {
		case e.table || e.key != "server":
			wrong(e.line, fmt.Sprintf("unknown key %q; the only one is server", e.key))
		case e.kind != unstable.String || e.value == "":
			wrong(e.line, `expected server = "https://…"`)
		default:
			server = e.value
		}
	}, func(line int, _, reason string) { wrong(line, reason) })
	if broken != nil {
		return "", fmt.Errorf("%s: %w", file, broken)
	}
	if err == nil && server == "" {
		err = fmt.Errorf(`%s: the key server is missing; add server = "https://…"`, file)
	}
	return server, err
}
