package apport

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mishap/crash/checktest"
)

const text = "Traceback (most recent call last):\nwörld"

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

func zlibbed(s string) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

func zstded(s string) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll([]byte(s), nil)
}

// chunked encodes each n bytes as one line of base64 with its own padding.
func chunked(b []byte, n int) string {
	var lines []string
	for len(b) > 0 {
		k := min(n, len(b))
		lines = append(lines, base64.StdEncoding.EncodeToString(b[:k]))
		b = b[k:]
	}
	return strings.Join(lines, "\n")
}

func TestDecompress(t *testing.T) {
	t.Parallel()
	for form, data := range map[string][]byte{"gzip": gzipped(text), "zlib": zlibbed(text), "zstd": zstded(text),
		"zstd in gzip": gzipped(string(zstded(text)))} {
		for _, chunk := range []int{1, 2, 3, 7, 10_000} {
			in := chunked(data, chunk)
			if chunk >= 7 && !isCompressed(in) {
				t.Errorf("isCompressed: got false for %s in lines of %d bytes, want true", form, chunk)
			}
			for name, reader := range map[string]io.Reader{"whole": strings.NewReader(in),
				"CR LF": strings.NewReader(strings.ReplaceAll(in, "\n", "\r\n")), "final newline": strings.NewReader(in + "\n")} {
				var out strings.Builder
				n, err := Decompress(&out, reader, 1000)
				if err != nil || out.String() != text || n != int64(len(text)) {
					t.Errorf("%s in lines of %d bytes, %s: got %q, %d, %v", form, chunk, name, out.String(), n, err)
				}
			}
		}
	}
}

func TestDecompressRefuses(t *testing.T) {
	t.Parallel()
	whole := gzipped(text)
	broken := bytes.Clone(whole)
	broken[len(broken)-5] ^= 1 // the checksum
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"nothing":         {"", io.ErrUnexpectedEOF},
		"no base64":       {"!!!!", io.ErrUnexpectedEOF},
		"text":            {base64.StdEncoding.EncodeToString([]byte("plain text")), errFormat},
		"cut":             {chunked(whole[:len(whole)-9], 12), io.ErrUnexpectedEOF},
		"cut in the tail": {chunked(whole[:len(whole)-2], 12), io.ErrUnexpectedEOF},
		"bad checksum":    {chunked(broken, 12), gzip.ErrChecksum},
		"half a group":    {chunked(whole, 12) + "\nQQ", nil}, // after the end of the stream
		"padding in the middle": {base64.RawStdEncoding.EncodeToString(whole[:10]) + "\n" +
			base64.StdEncoding.EncodeToString(whole[10:]), errPadding},
	} {
		_, err := Decompress(io.Discard, strings.NewReader(c.in), 1000)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// TestDecompressStopsBombs checks that decompression stops at the limit, in every format.
func TestDecompressStopsBombs(t *testing.T) {
	t.Parallel()
	bomb := strings.Repeat("\x00", 8<<20)
	for form, data := range map[string][]byte{"gzip": gzipped(bomb), "zlib": zlibbed(bomb), "zstd": zstded(bomb)} {
		n, err := Decompress(io.Discard, strings.NewReader(chunked(data, 1<<20)), 1<<20)
		want := int64(1 << 20)
		if form == "zstd" {
			want = 0 // its window is larger than the limit
		}
		if !errors.Is(err, ErrLimit) || n != want {
			t.Errorf("%s: got %d bytes and %v, want %d and %v", form, n, err, want, ErrLimit)
		}
		if n, err := Decompress(io.Discard, strings.NewReader(chunked(data, 1<<20)), 8<<20); err != nil || n != 8<<20 {
			t.Errorf("%s with a sufficient limit: got %d bytes and %v", form, n, err)
		}
	}
}

func TestIsCompressed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"H4sICAAAAAAC/1RyYWNlYmFjawA=\nCylK": true, "eJw=\nc3Ry": true, "KLUv/QAA": true,
		"": false, "H4s": false, "H4sI\r\n": false, "Traceback (most recent call last):\n": false, "eJ==": false,
		"AAAA": false, "eJwé": false,
	} {
		checktest.Equal(t, fmt.Sprintf("isCompressed(%q)", in), isCompressed(in), want)
	}
}

func FuzzDecompress(f *testing.F) {
	f.Add(chunked(gzipped(text), 10))
	f.Add(chunked(zlibbed(text), 7))
	f.Add(chunked(zstded(text), 100))
	f.Add("QQ==QQ==\n=\nQ")
	f.Fuzz(func(t *testing.T, in string) {
		if n, _ := Decompress(io.Discard, strings.NewReader(in), 1<<16); n > 1<<16 {
			t.Errorf("got %d bytes, over the limit", n)
		}
	})
}
