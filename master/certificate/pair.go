package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// pemPart is a certificate with its chain, or a key.
type pemPart struct {
	// Name is a path, or a reference to a secret, for display.
	Name string
	PEM  []byte
}

// parsePair parses a certificate and its key, which may be in the same text. The error names the
// damaged part. Fix is a clause with the remedy.
func parsePair(cert, key pemPart, fix string) (tls.Certificate, error) {
	if err := checkCertificates(cert.PEM); err != nil {
		return tls.Certificate{}, &atomicfile.DamagedError{Path: cert.Name, Err: err, Fix: fix}
	}
	if err := checkKey(key.PEM); err != nil {
		return tls.Certificate{}, &atomicfile.DamagedError{Path: key.Name, Err: err, Fix: fix}
	}
	pair, err := tls.X509KeyPair(cert.PEM, key.PEM)
	if err != nil {
		err = fmt.Errorf("it does not match the certificate %s: %w", cert.Name, err)
		return tls.Certificate{}, &atomicfile.DamagedError{Path: key.Name, Err: err, Fix: fix}
	}
	return pair, nil
}

// readPair is parsePair for files.
func readPair(cert, key, fix string) (tls.Certificate, error) {
	c, k, err := readParts(cert, key, fix)
	if err != nil {
		return tls.Certificate{}, err
	}
	return parsePair(c, k, fix)
}

func readParts(cert, key, fix string) (c, k pemPart, err error) {
	var parts [2]pemPart
	for i, path := range []string{cert, key} {
		data, err := os.ReadFile(path)
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			return c, k, &atomicfile.DamagedError{Path: path, Err: e.Err, Fix: fix}
		}
		if err != nil {
			return c, k, err
		}
		parts[i] = pemPart{path, data}
	}
	return parts[0], parts[1], nil
}

func checkCertificates(text []byte) error {
	return checkBlocks(text, "CERTIFICATE", func(der []byte) error {
		if _, err := x509.ParseCertificate(der); err != nil {
			return fmt.Errorf("a certificate in it is damaged: %w", err)
		}
		return nil
	})
}

func checkKey(text []byte) error {
	return checkBlocks(text, "PRIVATE KEY", func([]byte) error { return nil })
}

// checkBlocks returns an error unless text consists of complete, valid blocks of a kind.
func checkBlocks(text []byte, kind string, good func(der []byte) error) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return atomicfile.ErrEmpty
	}
	found, rest := false, text
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if !strings.HasSuffix(block.Type, kind) {
			continue
		}
		found = true
		if err := good(block.Bytes); err != nil {
			return err
		}
	}
	if bytes.Contains(rest, []byte("-----BEGIN")) {
		return errors.New("it ends in the middle of a block, or one is damaged")
	}
	if !found {
		return fmt.Errorf("it contains no %s", kind)
	}
	return nil
}
