package infra

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// DigestTag holds a salted digest of a given secret, so that a plan can tell
// whether the user's value is the stored one without reading that.
const DigestTag = "det-deploy-digest"

// digestRounds makes guessing a weak password from the tag slow: some 30 ms a
// guess, for who may read tags and not secrets.
const digestRounds = 100_000

// digest is "salt.sum", both in the alphabet that tags allow.
func digest(name, value string) string {
	salt := rand.Text()
	return salt + "." + sum(salt, name, value)
}

func digestMatches(tag, name, value string) bool {
	salt, want, ok := strings.Cut(tag, ".")
	return ok && subtle.ConstantTimeCompare([]byte(sum(salt, name, value)), []byte(want)) == 1
}

func sum(salt, name, value string) string {
	key, err := pbkdf2.Key(sha256.New, value, []byte(salt+"/"+name), digestRounds, sha256.Size)
	if err != nil {
		// Only a build restricted to approved algorithms refuses, and it would
		// refuse every value: none matches, and each run stores the value anew.
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(key)
}
