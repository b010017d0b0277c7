package local

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// tokenLife is the minimum time for which a launch token is remembered, as on EC2.
const tokenLife = 24 * time.Hour

// promise records the machines of a launch token. It is written before the machines are created, so
// that a restarted master can create the missing ones.
type promise struct {
	Launch cloud.Launch       `json:"launch"`
	IDs    []cloud.InstanceID `json:"ids"`
	At     time.Time          `json:"at"`
	Kept   bool               `json:"kept"`
}

func (p *Instances) launchesDir() string { return filepath.Join(p.poolDir(), "launches") }

func (p *Instances) promiseFile(token string) string {
	sum := sha256.Sum256([]byte(token))
	return filepath.Join(p.launchesDir(), hex.EncodeToString(sum[:16])+".json")
}

func (p *Instances) readPromises(token string) (promise, bool, error) {
	return readJSON[promise](p.promiseFile(token), promiseFix)
}

func (p *Instances) writePromise(l cloud.Launch, count int) (promise, error) {
	made := promise{Launch: l, At: time.Now().UTC()}
	for range count {
		made.IDs = append(made.IDs, newID())
	}
	return made, writeJSON(p.promiseFile(l.Token), made)
}

// keepPromises creates the machines of a promise that do not exist yet.
func (p *Instances) keepPromises(made promise) error {
	if made.Kept {
		return nil
	}
	var errs []error
	for _, id := range made.IDs {
		errs = append(errs, p.makeMachine(id, made))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	made.Kept = true
	return writeJSON(p.promiseFile(made.Launch.Token), made)
}

// resumeLaunches completes the launches of a master that was interrupted, and forgets expired
// tokens.
func (p *Instances) resumeLaunches() error {
	entries, err := os.ReadDir(p.launchesDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // a temporary file of an interrupted write
			continue
		}
		file := filepath.Join(p.launchesDir(), e.Name())
		made, found, err := readJSON[promise](file, promiseFix)
		switch {
		case err != nil || !found:
		case !made.Kept:
			err = p.keepPromises(made)
		case time.Since(made.At) > tokenLife && !p.anyLeft(made.IDs):
			err = os.Remove(file)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, err)...)
}

func (p *Instances) anyLeft(ids []cloud.InstanceID) bool {
	for _, id := range ids {
		if _, err := os.Stat(string(p.placeOf(id))); err == nil {
			return true
		}
	}
	return false
}

const idPrefix = "m-"

// newID returns a random ID in the form of an EC2 instance ID.
func newID() cloud.InstanceID {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // it never fails
	return cloud.InstanceID(idPrefix + hex.EncodeToString(b))
}

// isID reports whether name is a valid machine ID. It protects paths from names received over a
// network.
func isID(name string) bool {
	digits, found := strings.CutPrefix(name, idPrefix)
	_, err := hex.DecodeString(digits)
	return found && len(digits) == 16 && err == nil
}

const promiseFix = "delete it: the pool then launches the machines that it still needs"

// readJSON decodes a file. Found is false if it does not exist. Fix is the advice for a damaged
// file.
func readJSON[T any](file, fix string) (v T, found bool, err error) {
	err = atomicfile.ReadJSON(file, fix, &v)
	if errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	return v, err == nil, err
}

// writeJSON atomically replaces a file.
func writeJSON(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, data, 0o600)
}
