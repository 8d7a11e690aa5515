package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Export returns the present configuration as one file: the configuration file, with the values of the
// files beside it and of environment variables. Without secrets, a comment replaces each secret.
func (c *Config) Export(secrets bool) ([]byte, error) {
	doc, err := os.ReadFile(c.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	byName := map[string]key{}
	for _, k := range c.keys() {
		byName[k.name] = k
	}
	var out bytes.Buffer
	from := 0
	err = walkTOML(doc, func(e expression) {
		hidden := byName[e.key].secret && !secrets && e.value != ""
		if e.table || !hidden && c.SetByVariable(e.key) == "" {
			return
		}
		line := bytes.LastIndexByte(doc[:e.start], '\n') + 1
		out.Write(doc[from:line])
		if c.SetByVariable(e.key) == "" {
			out.WriteString(hiddenLine(e.key))
		} else {
			out.WriteString("# " + e.key + " was set by the environment; see the end of this file")
		}
		from = e.end
	}, func(int, string, string) {})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	out.Write(doc[from:])
	if out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	for _, k := range c.keys() {
		value, from := c.given[k.name].value, c.given[k.name].file
		switch {
		case c.SetByVariable(k.name) == "" && (from == "" || from == c.File):
		case k.secret && !secrets && value != "":
			out.WriteString(hiddenLine(k.name) + "\n")
		case k.kind == unstable.String:
			out.WriteString(k.name + " = " + quoteTOML(value) + "\n")
		default:
			out.WriteString(k.name + " = " + value + "\n")
		}
	}
	return out.Bytes(), nil
}

// HiddenSecret is the text of the comments that replace secrets, after the name of the key.
const HiddenSecret = ": a secret, which is not in the backup; set it again"

func hiddenLine(name string) string { return "# " + name + HiddenSecret }

// WithTexts returns a configuration file with other values for keys that are texts, in the order of the
// keys' names.
func WithTexts(doc []byte, values map[string]string) ([]byte, error) {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var err error
	for _, name := range names {
		if doc, err = setText(doc, name, values[name]); err != nil {
			return nil, err
		}
	}
	return doc, nil
}
