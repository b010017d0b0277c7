package client

import (
	"crypto/sha512"
	"encoding/hex"
)

// passwordSalt is part of the protocol of Determined 0.38.1: its clients never
// send a password, and every master checks this sum instead.
const passwordSalt = "GubPEmmotfiK9TMD6Zdw"

// HashPassword returns what is sent in place of a password. The empty password
// stays empty.
func HashPassword(password string) string {
	if password == "" {
		return ""
	}
	sum := sha512.Sum512([]byte(passwordSalt + password))
	return hex.EncodeToString(sum[:])
}
