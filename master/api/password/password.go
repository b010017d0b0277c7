// Package password implements the password rule and the hash that clients send in place of a
// password. The det client, det-deploy, the installers and the master use the same.
package password

import (
	"crypto/sha512"
	"encoding/hex"
)

// minLength and the three classes are the rule of Determined 0.38.1.
const minLength = 8

// Rule is the rule as the end of a sentence about a password that is not Strong.
const Rule = "must have at least 8 characters with an upper-case letter, a lower-case letter and a digit"

// Strong reports whether a password satisfies the rule. Only ASCII letters and digits count, as in
// the det client.
func Strong(p string) bool {
	var upper, lower, digit bool
	for _, r := range p {
		upper = upper || r >= 'A' && r <= 'Z'
		lower = lower || r >= 'a' && r <= 'z'
		digit = digit || r >= '0' && r <= '9'
	}
	return len([]rune(p)) >= minLength && upper && lower && digit
}

// salt is part of the contract with the det client and not secret.
const salt = "GubPEmmotfiK9TMD6Zdw"

// Hash returns the hash that clients send in place of a password, or "" for an empty one.
func Hash(p string) string {
	if p == "" {
		return ""
	}
	return sum(p)
}

func sum(p string) string {
	b := sha512.Sum512([]byte(salt + p))
	return hex.EncodeToString(b[:])
}

// IsHash reports whether sent can be the Hash of a password: a SHA-512 in lower-case hexadecimal
// other than that of the empty password.
func IsHash(sent string) bool {
	b, err := hex.DecodeString(sent)
	return err == nil && len(b) == sha512.Size && hex.EncodeToString(b) == sent && sent != sum("")
}
