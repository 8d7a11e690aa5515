package config

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

// TokenLines returns the lines of the configuration file for an access token, with its secret.
func TokenLines(token, secret crash.Secret) string {
	return "tracker_oauth_token = " + quoteTOML(string(token)) + "\n" +
		"tracker_oauth_secret = " + quoteTOML(string(secret)) + "\n"
}

// quoteTOML returns s as a basic string of TOML. That is a string of JSON in which DEL is escaped.
func quoteTOML(s string) string {
	quoted, _ := json.Marshal(s) // never fails for a string
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// WriteTokens writes an access token and its secret into a configuration file, and creates the file
// if it is missing. It changes nothing else in the file. It replaces the file atomically, with the
// same owner, and so that only the owner can read it (mode 0600). The group of mishap's account may
// still read a file of root. It follows symbolic links. The error is Unavailable.
func WriteTokens(file string, token, secret crash.Secret) error {
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

// errUnwritable returns the error of WriteTokens.
func errUnwritable(format string, args ...any) error {
	return crash.Errorf(crash.Unavailable, "config_unwritable", format, args...)
}

// setText returns a TOML document with a new text for a top-level key, in place or on a new last
// line.
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
		return nil, fmt.Errorf("line %d begins a table; every key must be at the top level", table)
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

// replaceFile replaces a file atomically: it writes and syncs a temporary file and renames it.
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
			if owner.Uid == 0 && owner.Gid != 0 && before.Mode().Perm()&0o040 != 0 {
				if err = tmp.Chmod(0o640); err != nil {
					return err
				}
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

// behindLinks returns the target of a symbolic link, which need not exist, or file itself.
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
