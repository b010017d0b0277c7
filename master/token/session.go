package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Kind is what a session token is for, and how its text begins. A leaked token
// is then recognised by people and by scanners.
type Kind string

// The kinds of session tokens.
const (
	// User: a login, or the token by which the det client works inside a task.
	User Kind = "dduser1_"
	// Allocation: what a task's own processes show; it dies with the allocation.
	Allocation Kind = "ddtask1_"
)

// Hash is what is stored of a session token: SHA-256 of its text, in hex. The text
// is random enough (more than 128 bits) that a slow hash would add nothing.
type Hash string

// NewSession makes a random session token and what to store of it.
func NewSession(k Kind) (Text, Hash) {
	t := Text(string(k) + rand.Text())
	return t, HashOf(t)
}

// HashOf is what is stored of t. Looking a token up by it compares nothing secret,
// so how long that takes tells nothing.
func HashOf(t Text) Hash {
	sum := sha256.Sum256([]byte(t))
	return Hash(hex.EncodeToString(sum[:]))
}
