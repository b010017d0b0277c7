package supervise

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Dir is the directory of one supervisor. The installer writes units, the
// supervisor writes statuses:
//
//	units/master.json   what should run          run/master.json   what does
//	run/supervisor.lock held by the supervisor   run/supervisor.json  who it is
type Dir string

// Unit is one process that should run.
type Unit struct {
	// Name identifies the unit: "master", "agent-1".
	Name string `json:"name"`
	// Program is what runs; the supervisor's own when empty.
	Program string   `json:"program,omitempty"`
	Args    []string `json:"args"`
	// Log is the file its output is appended to.
	Log string `json:"log"`
	// Generation changes when the process has to be started again.
	Generation string `json:"generation"`
}

// Status is what became of a unit.
type Status struct {
	Identity

	Generation string    `json:"generation"`
	Since      time.Time `json:"since"`
	// Restarts counts how often it was started again after it died.
	Restarts int `json:"restarts"`
	// Exit says how it ended last; it is empty while nothing has.
	Exit string `json:"exit,omitempty"`
}

func (d Dir) unitsDir() string              { return filepath.Join(string(d), "units") }
func (d Dir) runDir() string                { return filepath.Join(string(d), "run") }
func (d Dir) unitFile(name string) string   { return filepath.Join(d.unitsDir(), name+".json") }
func (d Dir) statusFile(name string) string { return filepath.Join(d.runDir(), name+".json") }
func (d Dir) lockFile() string              { return filepath.Join(d.runDir(), "supervisor.lock") }
func (d Dir) selfFile() string              { return d.statusFile("supervisor") }

// Make makes the directories.
func (d Dir) Make() error {
	for _, p := range []string{d.unitsDir(), d.runDir()} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes them, with all that was written down.
func (d Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.unitsDir()), os.RemoveAll(d.runDir()))
}

// Exists reports whether any of them is there.
func (d Dir) Exists() bool {
	_, units := os.Stat(d.unitsDir())
	_, run := os.Stat(d.runDir())
	return units == nil || run == nil
}

// Unit reads one unit.
func (d Dir) Unit(name string) (u Unit, found bool, err error) {
	return readJSON[Unit](d.unitFile(name))
}

// Put writes a unit down; the supervisor acts when it is woken.
func (d Dir) Put(u Unit) error { return writeJSON(d.unitFile(u.Name), u) }

// Drop takes a unit back.
func (d Dir) Drop(name string) error { return removeFile(d.unitFile(name)) }

// Status reads what became of a unit.
func (d Dir) Status(name string) (s Status, found bool, err error) {
	return readJSON[Status](d.statusFile(name))
}

// Known lists the names of everything that should run or was seen running.
func (d Dir) Known() ([]string, error) {
	var out []string
	for _, dir := range []string{d.unitsDir(), d.runDir()} {
		all, err := listNames(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range all {
			if name != "supervisor" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// listNames lists what the documents of a directory are about, in order. A directory that
// cannot be read is an error, and not one without documents: their processes would be stopped.
func listNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, found := strings.CutSuffix(e.Name(), ".json"); found {
			out = append(out, name)
		}
	}
	return out, nil
}

// Forget drops the status of a process that is gone.
func (d Dir) Forget(name string) error { return removeFile(d.statusFile(name)) }

func readJSON[T any](path string) (v T, found bool, err error) {
	err = atomicfile.ReadJSON(path, "run `det-deploy local up` again, which rewrites it", &v)
	if errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	return v, err == nil, err
}

// writeJSON never leaves half a file: a reader sees the old or the new one.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, b, 0o600)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
