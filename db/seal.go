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

// sealer keeps the tracker's secret from being read off a copy of the database. The key is derived from the password with
// which the database is reached: all units have it, and a dump does not. Without a password (a private server on a local
// socket, a trusted network) there is nothing that all units share and a dump lacks: then the key comes from what is
// stored beside it, and whoever can read the database can read the secret. After a change of the password the tracker has
// to be connected again.
type sealer struct{ password string }

// A sealed secret is one byte for the form, the salt, the nonce, and what AES-GCM makes of the secret.
const (
	sealForm  = 1
	saltSize  = 16
	nonceSize = 12
	sealInfo  = "mishap: access token of the tracker"
)

var errSeal = errors.New("the saved access token cannot be unsealed: the database password has changed, or it was " +
	"sealed by a unit with another one")

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

// open also takes what a unit sealed that needs no password.
func (s sealer) Open(sealed []byte, context string) (crash.Secret, error) {
	if len(sealed) < 1+saltSize+nonceSize || sealed[0] != sealForm {
		return "", errSeal
	}
	salt, nonce, rest := sealed[1:1+saltSize], sealed[1+saltSize:1+saltSize+nonceSize], sealed[1+saltSize+nonceSize:]
	for _, password := range []string{s.password, ""} {
		gcm, err := aead(password, salt)
		if err != nil {
			return "", err
		}
		if secret, err := gcm.Open(nil, nonce, rest, []byte(context)); err == nil {
			return crash.Secret(secret), nil
		}
	}
	return "", errSeal
}

// SealSecret returns a secret as text that may be stored: who reads it off a copy of the database cannot open it without the
// database's password (see sealer). context says what it is for; [Handle.OpenSecret] needs the same.
func (s *Handle) SealSecret(secret crash.Secret, context string) (string, error) {
	sealed, err := s.Sealer().Seal(secret, context)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// OpenSecret returns what SealSecret was given. It fails when the database's password or the context is another one.
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

// Sealer returns the sealer with the password of the database.
func (s *Handle) Sealer() sealer { return sealer{password: s.password} }
