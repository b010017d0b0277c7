package contexts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// lockLimit is how long to wait for the lock. A change by another process takes milliseconds.
const lockLimit = 5 * time.Second

// Change loads the file, applies edit and rewrites the file. Concurrent changes by several processes are
// serialized by a lock.
func (f File) Change(ctx context.Context, edit func(*Book) error) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fmt.Errorf("cannot write the contexts: %w", err)
	}
	lock := flock.New(f.Path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, lockLimit)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("cannot lock %s, which another det-deploy is writing: %w", f.Path, err)
	}
	defer lock.Unlock() //nolint:errcheck // the lock is released when the process exits
	b, err := f.Load()
	if err != nil {
		return err
	}
	if err := edit(b); err != nil {
		return err
	}
	return f.replaceFile(b)
}

// Save adds or replaces a context and makes it the current one. `up` and `login` call it last.
func (f File) Save(ctx context.Context, c Context) error {
	return f.Change(ctx, func(b *Book) error {
		b.Activate(c)
		return nil
	})
}

// Forget removes the context with a name, if it exists. See Book.Drop for the next current one.
func (f File) Forget(ctx context.Context, name string) error {
	return f.Change(ctx, func(b *Book) error {
		b.Drop(name)
		return nil
	})
}

// replaceFile replaces the file atomically.
func (f File) replaceFile(b *Book) error {
	var out bytes.Buffer
	out.WriteString("# Written by det-deploy. Contains session tokens: do not share it.\n")
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(b); err != nil {
		return fmt.Errorf("cannot write the contexts: %w", err)
	}
	if err := atomicfile.Write(f.Path, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write the contexts: %w", err)
	}
	return nil
}
