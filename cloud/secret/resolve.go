package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxFile bounds a secret in a file; a certificate chain has some tens of KiB.
const maxFile = 1 << 20

// Source fetches secrets from one cloud's store. It may be asked again for the
// same reference.
type Source interface {
	Secret(ctx context.Context, ref Ref) (string, error)
}

// Resolver turns references into secrets. Files and variables it reads itself;
// the cloud stores are given to it. The zero Resolver has none.
type Resolver struct {
	Sources map[Scheme]Source
	// LookupEnv reads a variable; nil means os.LookupEnv.
	LookupEnv func(string) (string, bool)
}

// Resolve returns v as a literal: v itself unless it is a reference.
func (r Resolver) Resolve(ctx context.Context, v Value) (Value, error) {
	ref, isRef := v.Ref()
	if !isRef {
		return v, nil
	}
	text, err := r.readSecret(ctx, ref)
	if err != nil {
		return Value{}, fmt.Errorf("resolve secret %s: %w", ref, err)
	}
	if text == "" {
		return Value{}, fmt.Errorf("resolve secret %s: it is empty; store the secret there or remove the setting", ref)
	}
	return Literal(text), nil
}

func (r Resolver) readSecret(ctx context.Context, ref Ref) (string, error) {
	if s := r.Sources[ref.Scheme]; s != nil {
		return s.Secret(ctx, ref)
	}
	switch ref.Scheme {
	case File:
		return readFile(ref.Name)
	case Env:
		lookup := r.LookupEnv
		if lookup == nil {
			lookup = os.LookupEnv
		}
		text, ok := lookup(ref.Name)
		if !ok {
			return "", errors.New("the variable is not set; set it in the environment of this process")
		}
		return text, nil
	case AWS, GCP:
		return "", errors.New("this process does not read this store; use a file: or env: reference")
	}
	return "", fmt.Errorf("unknown place %q", ref.Scheme)
}

// readFile returns the text without its last line break, which editors add.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("there is no such file; create it, readable by this user only")
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("the file is larger than %d bytes", maxFile)
	}
	text := strings.TrimSuffix(string(data), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}
