// Package people renders accounts, sign-in, sessions, tokens and service accounts.
package people

import (
	"encoding/base32"
	"fmt"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"

	"mishap/crash"
	"mishap/views/layout"
)

// PathSecondFactor is the page of the authenticator app.
const PathSecondFactor = "/account/second-factor"

// The buttons of the page, which are the ends of their addresses.
const (
	SecondFactorBegin   = "/begin"
	SecondFactorConfirm = "/confirm"
	SecondFactorCodes   = "/recovery-codes"
	SecondFactorOff     = "/off"
)

// SecondFactorPage holds what the page of the authenticator app shows.
type SecondFactorPage struct {
	Shell    layout.Shell
	Factor   crash.SecondFactor
	Address  string   // by which the app learns the secret; empty: there is none to show
	Recovery []string // new recovery codes, which are shown only once
	Required bool     // the person can do nothing else before
	Next     string   // local path to continue at; empty: none
	Pressed  string   // button whose request was refused
	Problem  string   // why
}

// problemOf returns why the request of a button was refused, or an empty text.
func (p SecondFactorPage) problemOf(button string) string {
	if p.Pressed != button {
		return ""
	}
	return p.Problem
}

// DecodeSecret returns the bytes of a secret of an app.
func DecodeSecret(s crash.Secret) ([]byte, error) {
	return base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(string(s))
}

// readableSecret returns a secret in groups of four characters.
func readableSecret(s crash.Secret) string {
	var groups []string
	for rest := string(s); rest != ""; {
		n := min(4, len(rest))
		groups, rest = append(groups, rest[:n]), rest[n:]
	}
	return strings.Join(groups, " ")
}

// qrMargin is the width in modules of the white margin that scanners need.
const qrMargin = 4

// qrCode holds the dark modules of a QR code as an SVG path, and its size with the margin.
type qrCode struct {
	path string
	size string
}

// newQRCode returns the QR code of a text, or an empty one if the text is too long.
func newQRCode(content string) qrCode {
	code, err := qr.Encode(content, qr.M, qr.Unicode)
	if err != nil {
		return qrCode{}
	}
	var path strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if dark, _, _, _ := code.At(x, y).RGBA(); dark == 0 {
				_, _ = fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+qrMargin, y+qrMargin) // never fails
			}
		}
	}
	return qrCode{path: path.String(), size: strconv.Itoa(size + 2*qrMargin)}
}
