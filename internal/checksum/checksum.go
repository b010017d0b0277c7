// Package checksum computes the checksums of files. It imports no other package of this module.
package checksum

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// File returns the hexadecimal SHA-256 of a file's content.
func File(path string) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // it was only read
	return Of(in)
}

// Of returns the hexadecimal SHA-256 of the data in r.
func Of(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
