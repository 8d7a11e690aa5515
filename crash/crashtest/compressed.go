package crashtest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
)

// Compressed returns text in the form that whoopsie sends for compressed fields: base64 of gzip,
// with the header in a line of its own.
func Compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text)) // a buffer cannot fail
	_ = w.Close()
	const header = 10 // bytes of a gzip header without a name
	return base64.StdEncoding.EncodeToString(b.Bytes()[:header]) + "\n" +
		base64.StdEncoding.EncodeToString(b.Bytes()[header:])
}
