package database

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// lockFile is the exclusive lock beside a SQLite file. The system releases it when
// the process ends, however it ends; the text in it is only for the message.
type lockFile struct {
	lock *flock.Flock
}

type lockHolder struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
}

// takeLock refuses at once when another process, or another Store of this one, has
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
		// The holder writes its name after it locked; in between there is none yet.
		if b, err := os.ReadFile(name); err == nil {
			var h lockHolder
			if json.Unmarshal(b, &h) == nil {
				held.Owner, held.PID, held.Host = "a master", h.PID, h.Host
			}
		}
		return nil, held
	}
	if err := l.writeHolder(name); err != nil {
		_ = l.lock.Close() // the error to tell is the first one
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

// releaseLock releases the lock. The file stays: removing it would let two processes lock
// two files of one name.
func (l *lockFile) releaseLock() error {
	if l == nil {
		return nil
	}
	return l.lock.Close()
}
