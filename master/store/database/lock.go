package database

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// lockFile is the exclusive lock file of a SQLite file. The operating system releases the lock when
// the process ends. The content is used only for error messages.
type lockFile struct {
	lock *flock.Flock
}

type lockHolder struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// takeLock returns a HeldError immediately if another process, or another Store of this process, has
// the file open for writing.
func takeLock(path string) (*lockFile, error) {
	name := path + ".lock"
	l := &lockFile{lock: flock.New(name, flock.SetPermissions(0o600))}
	got, err := l.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if !got {
		held := &HeldError{Store: path}
		// The owner writes its name after it has locked the file, so that the name may be missing.
		if b, err := os.ReadFile(name); err == nil {
			var h lockHolder
			if json.Unmarshal(b, &h) == nil {
				held.Owner, held.PID, held.Host = "a master", h.PID, h.Host
			}
		}
		return nil, held
	}
	if err := l.writeHolder(name); err != nil {
		_ = l.lock.Close() // the first error is returned
		return nil, err
	}
	return l, nil
}

func (l *lockFile) writeHolder(name string) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	b, err := json.Marshal(lockHolder{PID: os.Getpid(), Host: host})
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	if err := os.WriteFile(name, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return nil
}

// releaseLock releases the lock. The file is not removed, because otherwise two processes could lock
// different files of the same name.
func (l *lockFile) releaseLock() error {
	if l == nil {
		return nil
	}
	return l.lock.Close()
}
