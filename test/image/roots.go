package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots returns the certificate authorities that Mozilla trusts, from a module whose version go.mod
// pins: those of the build machine would make the image depend on it. Constrained authorities are
// left out, because the file format cannot express their constraints.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return b.Bytes()
}
