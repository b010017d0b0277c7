package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Kind is the purpose of a session token, and the prefix of its text, by which people and scanners
// recognize a leaked token.
type Kind string

// The kinds of session tokens.
const (
	// User: a login, or the token for the det client inside a task.
	User Kind = "dduser1_"
	// Allocation: the token of a task's own processes, which ends with the allocation.
	Allocation Kind = "ddtask1_"
)

// Hash is the stored form of a session token: the SHA-256 of its text, in hex. The text has more
// than 128 random bits, so that a slow hash would add nothing.
type Hash string

// NewSession returns a random session token and its hash.
func NewSession(k Kind) (Text, Hash) {
	t := Text(string(k) + rand.Text())
	return t, HashOf(t)
}

// HashOf returns the hash of t. A lookup by hash compares no secrets, so its timing reveals
// nothing.
func HashOf(t Text) Hash {
	sum := sha256.Sum256([]byte(t))
	return Hash(hex.EncodeToString(sum[:]))
}
