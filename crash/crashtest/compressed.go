package crashtest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
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

// Bomb returns n repetitions of block as one gzip stream. It compresses block only once, so that even
// gigabytes take moments.
func Bomb(block []byte, n int) []byte {
	var deflated bytes.Buffer
	w, _ := flate.NewWriter(&deflated, flate.DefaultCompression) // the level is valid
	_, _ = w.Write(block)                                        // a buffer cannot fail
	_ = w.Flush()                                                // ends the compressed block at a whole byte

	const header, last = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "\x01\x00\x00\xff\xff" // last: an empty block
	stream := append([]byte(header), bytes.Repeat(deflated.Bytes(), n)...)
	stream = append(stream, last...)
	var sum uint32
	for range n {
		sum = crc32.Update(sum, crc32.IEEETable, block)
	}
	stream = binary.LittleEndian.AppendUint32(stream, sum)
	return binary.LittleEndian.AppendUint32(stream, uint32(len(block)*n)) //nolint:gosec // modulo 2^32, as RFC 1952 says
}
