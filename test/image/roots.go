package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// roots are the authorities that Mozilla trusts, from a module whose version
// go.mod pins: those of the machine that builds would make another image on
// each. Authorities trusted within limits are left out, for the file cannot
// tell the limits.
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
