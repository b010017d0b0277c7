package secrets

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
)

// length is the length of a password: 24 of 62 characters are 142 bits.
const length = 24

// Letters and digits only, so that a password never needs quoting.
const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower = "abcdefghijklmnopqrstuvwxyz"
	digit = "0123456789"
)

// Password returns a new password that satisfies the rule of Determined 0.38.1: it contains an
// upper-case letter, a lower-case letter and a digit.
func Password() (string, error) {
	for {
		text, err := randomPassword(upper+lower+digit, length)
		if err != nil {
			return "", err
		}
		if strings.ContainsAny(text, upper) && strings.ContainsAny(text, lower) && strings.ContainsAny(text, digit) {
			return text, nil
		}
	}
}

func randomPassword(alphabet string, n int) (string, error) {
	out := make([]byte, n)
	for i := range out {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", fmt.Errorf("generate a password: %w", err)
		}
		out[i] = alphabet[at.Int64()]
	}
	return string(out), nil
}
