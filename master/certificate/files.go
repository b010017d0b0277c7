package certificate

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookEvery is the interval between checks of the certificate files.
const lookEvery = time.Minute

// Files is a certificate that is issued and renewed externally. A new one is used within a minute,
// without a restart.
type Files struct {
	cert, key string

	mu      sync.Mutex // guards the following fields
	current *tls.Certificate
	stamp   time.Time // the later modification time of the two files
	looked  time.Time
}

// NewFiles reads a certificate, with its full chain, and its key.
func NewFiles(cert, key string) (*Files, error) {
	f := &Files{cert: cert, key: key}
	if _, err := f.Certificate(); err != nil {
		return nil, err
	}
	return f, nil
}

// Certificate implements Source. It returns the previous certificate while the files are incomplete
// or missing.
func (f *Files) Certificate() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.current != nil && now.Sub(f.looked) < lookEvery {
		return f.current, nil
	}
	f.looked = now
	stamp, err := newestChange(f.cert, f.key)
	if err == nil && f.current != nil && stamp.Equal(f.stamp) {
		return f.current, nil
	}
	pair, err := readPair(f.cert, f.key, "restore the certificate with its full chain, and the matching key")
	if err != nil {
		if f.current != nil {
			return f.current, nil
		}
		return nil, fmt.Errorf("open the master's certificate: %w", err)
	}
	f.current, f.stamp = &pair, stamp
	return f.current, nil
}

func newestChange(names ...string) (t time.Time, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return t, err
		}
		if info.ModTime().After(t) {
			t = info.ModTime()
		}
	}
	return t, nil
}
