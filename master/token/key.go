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
	// keyBytes is the size of a key: that of the hash, as RFC 2104 advises.
	keyBytes = sha256.Size
	// keysAlive is how many keys check signatures at once: the one that signs and
	// the one before it, so that a rotation breaks nothing that was made before.
	keysAlive = 2
	// textLimit bounds what is decoded at all; ours are below 600 bytes.
	textLimit = 4096
)

// Key signs tokens. It is stored by the master and never leaves it.
type Key struct {
	ID      string
	Secret  []byte
	Created time.Time
}

// String hides the secret.
func (k Key) String() string { return "key " + k.ID }

// GoString hides the secret from %#v.
func (k Key) GoString() string { return k.String() }

// LogValue hides the secret from logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// NewKey makes a random key.
func NewKey(now time.Time) Key {
	secret := make([]byte, keyBytes)
	rand.Read(secret) // it never fails: the program ends where there is no randomness
	id := make([]byte, 4)
	rand.Read(id)
	return Key{ID: fmt.Sprintf("%x", id), Secret: secret, Created: now}
}

// Ring is the keys in use, newest first. The first signs, all check. It is a value:
// Rotate returns another.
type Ring []Key

// Rotate puts k first and retires all but one of the others.
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

// sealToken writes body as "<kind>.<key>.<body>.<signature>". The signature covers the
// kind, so that no token of one kind is ever good for another.
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

// unsealToken reads into body what seal wrote, and nothing else.
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

// decodeBytes is strict: of all texts for the same bytes one is ours, so that a token
// has one form and a list of revoked ones cannot be walked around.
func decodeBytes(s string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(s) }
