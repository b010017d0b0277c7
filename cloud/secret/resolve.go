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

// maxFile is the maximum size of a secret file. A certificate chain has some tens of KiB.
const maxFile = 1 << 20

// Source fetches secrets from the secret store of one cloud. The same reference may be fetched
// again.
type Source interface {
	Secret(ctx context.Context, ref Ref) (string, error)
}

// Resolver resolves references to secrets. It reads files and environment variables itself and uses
// Sources for the cloud stores. The zero Resolver has no sources.
type Resolver struct {
	Sources map[Scheme]Source
	// LookupEnv reads an environment variable. Nil means os.LookupEnv.
	LookupEnv func(string) (string, bool)
}

// Resolve returns v as a literal: v itself if it is not a reference.
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
	return "", fmt.Errorf("unknown scheme %q", ref.Scheme)
}

// readFile returns the text of a file without its trailing newline, which editors add.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("the file does not exist; create it, readable by this user only")
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // the file was only read
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
