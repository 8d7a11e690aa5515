package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2/unstable"

	"mishap/crash"
)

// tokenLines are the lines of the configuration file that hold an access token. They hold the secret.
func tokenLines(token, secret crash.Secret) string {
	return "tracker_oauth_token = " + quoteTOML(string(token)) + "\n" +
		"tracker_oauth_secret = " + quoteTOML(string(secret)) + "\n"
}

// quoteTOML writes a text as TOML does between double quotes: as JSON does, and DEL must be escaped too.
func quoteTOML(s string) string {
	quoted, _ := json.Marshal(s) // a text always can be
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// writeTokens writes the access token and its secret into the configuration file, which is made when it is missing.
// Everything else in it stays as it is, byte for byte. The file changes at once or not at all, belongs to whom it
// belonged, and only its owner can read it afterwards (mode 0600). A symbolic link stays one. The error is Unavailable,
// and says why.
func writeTokens(file string, token, secret crash.Secret) error {
	file = behindLinks(file)
	doc, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errUnwritable("%s cannot be read: %s", file, cause(err))
	}
	for _, v := range []struct {
		key   string
		value crash.Secret
	}{{"tracker_oauth_token", token}, {"tracker_oauth_secret", secret}} {
		if doc, err = setText(doc, v.key, string(v.value)); err != nil {
			return errUnwritable("%s: %s", file, err)
		}
	}
	if err := replaceFile(file, doc); err != nil {
		return errUnwritable("%s cannot be written: %s", file, cause(err))
	}
	return nil
}

// errUnwritable says why the tokens are not in the file.
func errUnwritable(format string, args ...any) error {
	return crash.Errorf(crash.Unavailable, "config_unwritable", format, args...)
}

// setText gives a top-level key of a TOML document a new text: in place where the key stands, else on a line of its own
// behind the other keys.
func setText(doc []byte, name, text string) ([]byte, error) {
	var found *expression
	broken, table := 0, -1
	err := walkTOML(doc, func(e expression) {
		switch {
		case e.table && table < 0:
			table = e.line
		case e.key == name && table < 0 && found == nil:
			found = &e
		}
	}, func(line int, _, _ string) { broken = line })
	switch {
	case err != nil:
		return nil, err
	case broken > 0:
		return nil, fmt.Errorf("line %d is not TOML; correct it first", broken)
	case table >= 0:
		return nil, fmt.Errorf("line %d begins a table; every key stands at the top level", table)
	case found != nil && (found.kind == unstable.Array || found.kind == unstable.InlineTable):
		return nil, fmt.Errorf("line %d: %s is not a text; correct it first", found.line, name)
	case found != nil:
		return bytes.Join([][]byte{doc[:found.start], doc[found.end:]}, []byte(quoteTOML(text))), nil
	}
	eol := "\n"
	if bytes.Contains(doc, []byte("\r\n")) {
		eol = "\r\n"
	}
	line := name + " = " + quoteTOML(text) + eol
	if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n")) {
		line = eol + line
	}
	return append(bytes.Clone(doc), line...), nil
}

// replaceFile puts content in the place of file: written beside it, on disk, then renamed.
func replaceFile(file string, content []byte) (err error) {
	folder := filepath.Dir(file)
	tmp, err := os.CreateTemp(folder, "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close()
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if before, statErr := os.Stat(file); statErr == nil {
		if owner, ok := before.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
			if err = tmp.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
				return err
			}
		}
	}
	if _, err = tmp.Write(content); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// behindLinks is the file that a symbolic link leads to, also one that does not exist yet; other files are themselves.
func behindLinks(file string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	target, err := os.Readlink(file)
	if err != nil {
		return file
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return target
}
