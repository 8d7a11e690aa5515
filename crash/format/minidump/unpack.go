package minidump

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"mishap/crash"
)

const maxWindow = 8 << 20 // bytes that a decoder may need besides the dump

// Compressed reports whether a dump is compressed.
func Compressed(dump []byte) bool { return opener(dump) != nil }

// Unpack returns a dump without its compression: gzip, zstd, xz, bzip2 or none. Errors are of kind Invalid, or TooLarge
// if the dump has more bytes than limit.
func Unpack(dump []byte, limit int64) ([]byte, error) {
	open := opener(dump)
	if open == nil {
		return dump, nil
	}
	from, err := open(bytes.NewReader(dump))
	if err != nil {
		return nil, errDamaged.Because(err)
	}
	if c, ok := from.(io.Closer); ok {
		defer c.Close() //nolint:errcheck // only read
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	switch {
	case int64(len(data)) > limit, errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, xz.ErrMemlimit):
		return nil, crash.Errorf(crash.TooLarge, "too_large", "The minidump is larger than %d bytes.", limit)
	case err != nil:
		return nil, errDamaged.Because(err)
	}
	return data, nil
}

func opener(dump []byte) func(io.Reader) (io.Reader, error) {
	for magic, open := range map[string]func(io.Reader) (io.Reader, error){
		"\x1f\x8b": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"\x28\xb5\x2f\xfd": func(r io.Reader) (io.Reader, error) {
			d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
				zstd.WithDecoderLowmem(true))
			if err != nil {
				return nil, err
			}
			return d.IOReadCloser(), nil
		},
		"\xfd7zXZ\x00": func(r io.Reader) (io.Reader, error) { return xz.NewReader(r, maxWindow) },
		"BZh":          func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil },
	} {
		if bytes.HasPrefix(dump, []byte(magic)) {
			return open
		}
	}
	return nil
}
