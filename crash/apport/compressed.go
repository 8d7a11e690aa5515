package apport

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"mishap/crash/compressed"
)

// compressedField reads a value that is compressed and encoded in base64. It decompresses memory
// dumps only to verify them.
func (f *file) compressedField(key string, at int) error {
	next, err := f.in.Peek(1)
	if errors.Is(err, io.EOF) || err == nil && next[0] != ' ' {
		f.store(key, "")
		return nil
	}
	if err != nil {
		return err
	}
	value := &limited{max: f.lim.Text - f.text, discard: isDump(key)}
	text := &chunks{f: f}
	var into io.Writer = value
	if IsCore(key) && f.core != nil {
		if f.core.used {
			f.line = at
			return f.malformed("begins a second core dump")
		}
		f.core.used = true
		into = f.core
	}
	n, err := compressed.Copy(into, text, f.lim.Decompressed)
	if f.core != nil && f.core.err != nil {
		return f.core.err
	}
	if text.err != nil && !errors.Is(text.err, io.EOF) {
		return text.err
	}
	switch {
	case errors.Is(err, compressed.ErrLimit):
		f.binary[key] = Binary{Name: key, Size: n, More: true}
	case err != nil:
		f.line = at
		return f.malformed("begins the compressed value of %s, which is damaged or cut short (%v)", key, err)
	case value.discard || value.over:
		f.binary[key] = Binary{Name: key, Size: n}
	default:
		f.store(key, value.b.String())
	}
	_, err = io.Copy(io.Discard, text)
	return err
}

// coreWriter writes a core dump and remembers the error, to tell it from errors of the file.
type coreWriter struct {
	w    io.Writer
	used bool
	err  error
}

func (c *coreWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.err = err
	return n, err
}

// chunks reads the continuation lines of a value, without their leading blank but with their line
// ends.
type chunks struct {
	f      *file
	inLine bool
	err    error
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.err != nil || len(p) == 0 {
		return 0, c.err
	}
	if !c.inLine {
		next, err := c.f.in.Peek(1)
		if err == nil && next[0] != ' ' {
			err = io.EOF
		}
		if err != nil {
			c.err = err
			return 0, err
		}
		_, _ = c.f.in.Discard(1)
		c.f.line++
		c.inLine = true
	}
	if _, err := c.f.in.Peek(1); err != nil {
		c.err = err
		return 0, err
	}
	part, _ := c.f.in.Peek(min(len(p), c.f.in.Buffered()))
	if end := bytes.IndexByte(part, '\n'); end >= 0 {
		part, c.inLine = part[:end+1], false
	}
	n := copy(p, part)
	_, _ = c.f.in.Discard(n)
	return n, nil
}

// limited buffers what is written to it, or discards everything if that is larger than max.
type limited struct {
	b       strings.Builder
	max     int64
	discard bool
	over    bool
}

func (l *limited) Write(p []byte) (int, error) {
	if !l.discard && !l.over && int64(l.b.Len()+len(p)) > l.max {
		l.over = true
		l.b.Reset()
	}
	if !l.discard && !l.over {
		l.b.Write(p)
	}
	return len(p), nil
}
