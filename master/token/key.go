package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	// keyBytes is the size of a key: that of the hash, as RFC 2104 recommends.
	keyBytes = sha256.Size
	// keysAlive is the number of keys that verify signatures: the one that signs and its
	// predecessor, so that tokens survive one rotation.
	keysAlive = 2
	// textLimit is the maximum length of a token to decode; ours are below 600 bytes.
	textLimit = 4096
)

// Key signs tokens. It is stored by the master and never leaves it.
type Key struct {
	ID      string
	Secret  []byte
	Created time.Time
}

// String omits the secret.
func (k Key) String() string { return "key " + k.ID }

// GoString omits the secret for %#v.
func (k Key) GoString() string { return k.String() }

// LogValue omits the secret from logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// NewKey returns a random key.
func NewKey(now time.Time) Key {
	secret := make([]byte, keyBytes)
	rand.Read(secret) // never fails: the program ends without randomness
	id := make([]byte, 4)
	rand.Read(id)
	return Key{ID: fmt.Sprintf("%x", id), Secret: secret, Created: now}
}

// Ring holds the keys in use, newest first. The first signs, and all verify. Rotate returns a new
// Ring.
type Ring []Key

// Rotate returns a ring with k first, which retires all but one of the others.
func (r Ring) Rotate(k Key) Ring {
	next := append(Ring{k}, r...)
	return next[:min(len(next), keysAlive)]
}

func (r Ring) findKey(id string) (Key, bool) {
	for _, k := range r {
		if k.ID == id {
			return k, true
		}
	}
	return Key{}, false
}

// sealToken returns "<kind>.<key>.<body>.<signature>". The signature covers the kind, so that a
// token of one kind is never valid as another.
func (r Ring) sealToken(kind string, body any) (Text, error) {
	if len(r) == 0 {
		return "", fmt.Errorf("sign a token: %w", ErrUnknownKey)
	}
	b, err := json.Marshal(body)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	signed := kind + "." + r[0].ID + "." + encodeBytes(b)
	return Text(signed + "." + encodeBytes(sign(r[0], signed))), nil
}

// unsealToken verifies a token from sealToken and decodes it into body.
func (r Ring) unsealToken(kind string, t Text, body any) error {
	text := string(t)
	parts := strings.Split(text, ".")
	if len(text) > textLimit || len(parts) != 4 || parts[0] != kind {
		return ErrMalformed
	}
	key, found := r.findKey(parts[1])
	if !found {
		return ErrUnknownKey
	}
	mac, err := decodeBytes(parts[3])
	if err != nil {
		return ErrMalformed
	}
	signed := text[:strings.LastIndexByte(text, '.')]
	if !hmac.Equal(mac, sign(key, signed)) {
		return ErrForged
	}
	b, err := decodeBytes(parts[2])
	if err != nil {
		return ErrMalformed
	}
	if err := json.Unmarshal(b, body); err != nil {
		return ErrMalformed
	}
	return nil
}

func sign(k Key, text string) []byte {
	m := hmac.New(sha256.New, k.Secret)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func encodeBytes(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decodeBytes is strict: it accepts only one encoding of the same bytes, so that a token has a
// single spelling and a revocation list cannot be bypassed.
func decodeBytes(s string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(s) }
