package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"mishap/crash"
)

// sealer encrypts the tracker's secrets, so that a copy of the database does not reveal them. It
// derives the key from the database password, which all instances have and a dump lacks. Without a
// password, the key depends only on data in the same row, so anyone who can read the database can
// read the secret. After a change of the password, an administrator must connect the tracker again.
type sealer struct{ password string }

// A sealed secret consists of one byte for the format, the salt, the nonce, and the output of
// AES-GCM.
const (
	sealForm  = 1
	saltSize  = 16
	nonceSize = 12
	sealInfo  = "mishap: access token of the tracker"
)

var errSeal = errors.New("the saved access token cannot be decrypted: the database password has changed, or an " +
	"instance with another password has encrypted the token")

// Seal encrypts a secret. Open needs the same context.
func (s sealer) Seal(secret crash.Secret, context string) ([]byte, error) {
	head := make([]byte, 1+saltSize+nonceSize)
	head[0] = sealForm
	_, _ = rand.Read(head[1:]) // never fails
	gcm, err := aead(s.password, head[1:1+saltSize])
	if err != nil {
		return nil, err
	}
	return gcm.Seal(head, head[1+saltSize:], []byte(secret), []byte(context)), nil
}

// Open decrypts a secret. It also accepts one that was encrypted without a password.
func (s sealer) Open(sealed []byte, context string) (crash.Secret, error) {
	if len(sealed) < 1+saltSize+nonceSize || sealed[0] != sealForm {
		return "", errSeal
	}
	salt, nonce := sealed[1:1+saltSize], sealed[1+saltSize:1+saltSize+nonceSize]
	ciphertext := sealed[1+saltSize+nonceSize:]
	for _, password := range []string{s.password, ""} {
		gcm, err := aead(password, salt)
		if err != nil {
			return "", err
		}
		if secret, err := gcm.Open(nil, nonce, ciphertext, []byte(context)); err == nil {
			return crash.Secret(secret), nil
		}
	}
	return "", errSeal
}

// SealSecret encrypts a secret for the database, with a key derived from the database password (see
// sealer). [Handle.OpenSecret] needs the same context, which names the purpose of the secret.
func (s *Handle) SealSecret(secret crash.Secret, context string) (string, error) {
	sealed, err := s.Sealer().Seal(secret, context)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// OpenSecret decrypts a text that SealSecret has returned. It fails if the database password or the
// context has changed.
func (s *Handle) OpenSecret(sealed, context string) (crash.Secret, error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errSeal
	}
	return s.Sealer().Open(raw, context)
}

func aead(password string, salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(password), salt, sealInfo, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return cipher.NewGCM(block)
}

// Sealer returns the sealer that uses the database password.
func (s *Handle) Sealer() sealer { return sealer{password: s.password} }
