package secrets

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
)

// length is that of a password: 24 of 62 characters are 142 bits.
const length = 24

// Letters and digits only, so that nothing has to quote a password.
const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower = "abcdefghijklmnopqrstuvwxyz"
	digit = "0123456789"
)

// Password is a new one that keeps the rule of Determined 0.38.1: an upper-case
// letter, a lower-case letter and a digit are in it.
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
			return "", fmt.Errorf("make a password: %w", err)
		}
		out[i] = alphabet[at.Int64()]
	}
	return string(out), nil
}
