package db

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/klauspost/compress/zstd"

	"mishap/crash"
)

// A bodyCodec turns the fields of a report into what stands in reports.body and back: a JSON object of texts, packed
// by zstd. The fastest level is taken: it packs a usual report to a quarter, and better ones cost more time than they
// save in disk.
type bodyCodec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newBodyCodec() (*bodyCodec, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &bodyCodec{enc: enc, dec: dec}, nil
}

func (c *bodyCodec) pack(f crash.Fields) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("pack report: %w", err)
	}
	return c.enc.EncodeAll(text, nil), nil
}

func (c *bodyCodec) unpack(body []byte) (crash.Fields, error) {
	text, err := c.dec.DecodeAll(body, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack report: %w", err)
	}
	var f crash.Fields
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("unpack report: %w", err)
	}
	return f, nil
}
