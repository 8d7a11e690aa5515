package abrt

import (
	"mishap/crash"
)

// MaxAttachment is the largest size of an attachment, in bytes.
const MaxAttachment = 2048

// The largest lengths of the members of an attachment, in bytes.
const (
	maxHash           = 256
	maxAttachmentType = 64
	maxAttachmentData = 1024
)

// CheckAttachment checks what a client attaches to a problem: the number of a bug, an address, a comment. Errors
// are of type *crash.Error, with a sentence for the sender.
func CheckAttachment(body []byte) error {
	if len(body) > MaxAttachment {
		return crash.Errorf(crash.TooLarge, "too_large", "uReport attachment may only be %d bytes long", MaxAttachment)
	}
	var a struct {
		Hash string  `json:"bthash"`
		Type *string `json:"type"`
		Data *string `json:"data"`
	}
	if err := decode(body, &a); err != nil {
		return err
	}
	switch {
	case !isHash(a.Hash):
		return invalid("The bthash is not a hash in hex.")
	case a.Type == nil || len(*a.Type) > maxAttachmentType:
		return invalid("The type is missing or longer than %d bytes.", maxAttachmentType)
	case a.Data == nil || len(*a.Data) > maxAttachmentData:
		return invalid("The data are missing or longer than %d bytes.", maxAttachmentData)
	}
	return nil
}

// isHash reports whether s consists of 1 to 256 hex digits.
func isHash(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') && (r < 'A' || r > 'F') {
			return false
		}
	}
	return s != "" && len(s) <= maxHash
}
