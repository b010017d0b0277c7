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

// Password is a password in plain text. It prints redacted.
type Password string

// String returns a placeholder.
func (p Password) String() string { return "‹redacted›" }

// Format writes a placeholder for every verb.
func (p Password) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, p.String()) // fmt.State records its own errors
}

// LogValue returns a placeholder for logs.
func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText returns an error, because passwords must not be written to documents.
func (p Password) MarshalText() ([]byte, error) {
	return nil, errors.New("a password must not be marshaled")
}

// checkRule returns an error if a plain-text password violates the rule.
func (p Password) checkRule() error {
	switch {
	case !password.Strong(string(p)):
		return status.New(status.InvalidArgument, "password: %s", password.Rule)
	case len(p) > passwordLimit:
		return status.New(status.InvalidArgument, "password: must have at most %d bytes", passwordLimit)
	}
	return nil
}

// checkHash returns an error for a password in place of its hash, which would bypass the rule.
// Clients check passwords before they hash them; the master cannot.
func checkHash(sent string) error {
	if !password.IsHash(sent) {
		return status.New(status.InvalidArgument,
			"password: with isHashed it must be the hash that clients of Determined send, 128 hexadecimal digits; send a password without isHashed")
	}
	return nil
}

// The cost of a guess: the last of OWASP's equivalent choices for argon2id (7 MiB, 5 passes, 1
// lane), some 25 ms here. Every hash contains its parameters, so that older hashes stay valid:
// those of 19 MiB and 2 passes are renewed by the next login.
const (
	argonMemory = 7 * 1024 // KiB
	argonPasses = 5
	argonLanes  = 1
	saltBytes   = 16
	hashBytes   = 32
)

// The hashes of accounts without a password.
const (
	// blank: the user logs in without a password.
	blank = ""
	// locked: no password is accepted; remote users log in elsewhere.
	locked = "locked"
)

// hashPassword returns the stored hash of the text that the client sent.
func hashPassword(sent string) string {
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails: the program ends without randomness
	h := argon2.IDKey([]byte(sent), salt, argonPasses, argonMemory, argonLanes, hashBytes)
	return hashCost() + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(h)
}

// hashCost returns the prefix of current hashes.
func hashCost() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$", argon2.Version, argonMemory, argonPasses, argonLanes)
}

// isOutdated reports whether a stored hash has other parameters than current hashes.
func isOutdated(stored string) bool {
	return strings.HasPrefix(stored, "$argon2id$") && !strings.HasPrefix(stored, hashCost())
}

// matchesHash reports whether the text that the client sent matches a stored hash.
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
