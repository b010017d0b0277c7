package infra

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// digestRounds makes guessing a weak password from the mark slow: some 30 ms a
// guess, for who may read marks and not secrets.
const digestRounds = 100_000

// Digest is a salted digest of a given secret as "salt.sum", both in the alphabet that
// tags allow, so that a plan can tell whether the user's value is the stored one
// without reading that.
func Digest(name, value string) string {
	salt := rand.Text()
	return salt + "." + digestSum(salt, name, value)
}

// DigestMatches reports whether a digest is that of value.
func DigestMatches(digest, name, value string) bool {
	salt, want, ok := strings.Cut(digest, ".")
	return ok && subtle.ConstantTimeCompare([]byte(digestSum(salt, name, value)), []byte(want)) == 1
}

func digestSum(salt, name, value string) string {
	key, err := pbkdf2.Key(sha256.New, value, []byte(salt+"/"+name), digestRounds, sha256.Size)
	if err != nil {
		// Only a build restricted to approved algorithms refuses, and it would
		// refuse every value: none matches, and each run stores the value again.
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(key)
}
