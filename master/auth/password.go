package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"golang.org/x/crypto/argon2"

	"github.com/det-deploy/det-deploy/master/api/password"
	"github.com/det-deploy/det-deploy/master/api/status"
)

// Password is a password as a person types it. It prints redacted.
type Password string

// String hides the password.
func (p Password) String() string { return "‹redacted›" }

// Format hides the password under every verb.
func (p Password) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, p.String()) // fmt.State reports its own errors
}

// LogValue hides the password from logs.
func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText refuses: a password is not written into documents.
func (p Password) MarshalText() ([]byte, error) {
	return nil, errors.New("refuse to marshal a password")
}

// checkRule holds a typed password to the rule.
func (p Password) checkRule() error {
	switch {
	case !password.Strong(string(p)):
		return status.New(status.InvalidArgument, "password: %s", password.Rule)
	case len(p) > passwordLimit:
		return status.New(status.InvalidArgument, "password: must have at most %d bytes", passwordLimit)
	}
	return nil
}

// checkHash refuses a password in the place of its hash, which would not be held to the
// rule. Clients check what they have hashed; the master cannot.
func checkHash(sent string) error {
	if !password.IsHash(sent) {
		return status.New(status.InvalidArgument,
			"password: with isHashed it must be the hash that clients of Determined send, 128 hexadecimal digits; send a password without isHashed")
	}
	return nil
}

// The cost of one guess: the last of OWASP's choices for argon2id, which it holds to be as
// strong as each other (7 MiB, 5 passes, 1 lane), some 25 ms here. It is written into every
// hash, so that older ones are readable: those of 19 MiB and 2 passes are renewed by the next
// login.
const (
	argonMemory = 7 * 1024 // KiB
	argonPasses = 5
	argonLanes  = 1
	saltBytes   = 16
	hashBytes   = 32
)

// Hashes of accounts without a password.
const (
	// blank: the user has no password, and none is asked for.
	blank = ""
	// locked: no password fits; remote users log in elsewhere.
	locked = "locked"
)

// hashPassword makes what is stored of a password from what the client sends.
func hashPassword(sent string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt) // it never fails: the program ends where there is no randomness
	h := argon2.IDKey([]byte(sent), salt, argonPasses, argonMemory, argonLanes, hashBytes)
	return hashCost() + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(h)
}

// hashCost is what the hashes that are made now begin with.
func hashCost() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonPasses, argonLanes)
}

// isOutdated says whether a stored hash is of another cost than those that are made now.
func isOutdated(stored string) bool {
	return strings.HasPrefix(stored, "$argon2id$") && !strings.HasPrefix(stored, hashCost())
}

// matchesHash says whether what the client sent is the password behind a stored hash.
func matchesHash(stored, sent string) bool {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(want) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(sent), salt, passes, memory, lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}
