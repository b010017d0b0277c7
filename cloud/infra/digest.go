package infra

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// digestRounds makes brute-forcing a weak password slow, some 30 ms per guess, for an attacker who
// can read tags but not secrets.
const digestRounds = 100_000

// Digest returns a salted digest of a secret as "salt.sum", in characters that are valid in tags. A
// plan compares it with the user's value without reading the stored secret.
func Digest(name, value string) string {
	salt := rand.Text()
	return salt + "." + digestSum(salt, name, value)
}

// DigestMatches reports whether digest is a digest of value.
func DigestMatches(digest, name, value string) bool {
	salt, want, ok := strings.Cut(digest, ".")
	return ok && subtle.ConstantTimeCompare([]byte(digestSum(salt, name, value)), []byte(want)) == 1
}

func digestSum(salt, name, value string) string {
	key, err := pbkdf2.Key(sha256.New, value, []byte(salt+"/"+name), digestRounds, sha256.Size)
	if err != nil {
		// Only a build restricted to approved algorithms returns an error, and it does for every
		// value: no digest matches, and each run stores the value again.
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(key)
}
