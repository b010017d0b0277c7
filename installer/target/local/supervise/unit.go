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
//	units/master.json   requested process        run/master.json      its state
//	run/supervisor.lock held by the supervisor   run/supervisor.json  its identity
//	run/master.lock     held by the process      run/master.pid       its process ID
type Dir string

// Unit is a requested process.
type Unit struct {
	// Name identifies the unit: "master", "agent-1".
	Name string `json:"name"`
	// Program is the program to run; empty means that of the supervisor.
	Program string   `json:"program,omitempty"`
	Args    []string `json:"args"`
	// Log is the file to which its output is appended.
	Log string `json:"log"`
	// Generation changes when the process has to be restarted.
	Generation string `json:"generation"`
}

// Status is the state of a unit.
type Status struct {
	Identity

	Generation string    `json:"generation"`
	Since      time.Time `json:"since"`
	// Restarts counts its restarts after it died.
	Restarts int `json:"restarts"`
	// Exit describes how it last ended, or "".
	Exit string `json:"exit,omitempty"`
}

func (d Dir) unitsDir() string              { return filepath.Join(string(d), "units") }
func (d Dir) runDir() string                { return filepath.Join(string(d), "run") }
func (d Dir) unitFile(name string) string   { return filepath.Join(d.unitsDir(), name+".json") }
func (d Dir) statusFile(name string) string { return filepath.Join(d.runDir(), name+".json") }
func (d Dir) lockFile() string              { return filepath.Join(d.runDir(), "supervisor.lock") }
func (d Dir) selfFile() string              { return d.statusFile("supervisor") }

// Make creates the directories.
func (d Dir) Make() error {
	for _, p := range []string{d.unitsDir(), d.runDir()} {
		if err := os.MkdirAll(p, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes the directories.
func (d Dir) Remove() error {
	return errors.Join(os.RemoveAll(d.unitsDir()), os.RemoveAll(d.runDir()))
}

// Exists reports whether one of the directories exists.
func (d Dir) Exists() bool {
	_, units := os.Stat(d.unitsDir())
	_, run := os.Stat(d.runDir())
	return units == nil || run == nil
}

// Unit reads one unit.
func (d Dir) Unit(name string) (u Unit, found bool, err error) {
	return readJSON[Unit](d.unitFile(name))
}

// Put writes a unit. The supervisor applies it when it is woken.
func (d Dir) Put(u Unit) error { return writeJSON(d.unitFile(u.Name), u) }

// Drop deletes a unit.
func (d Dir) Drop(name string) error { return removeFile(d.unitFile(name)) }

// Status reads the state of a unit.
func (d Dir) Status(name string) (s Status, found bool, err error) {
	return readJSON[Status](d.statusFile(name))
}

// Known returns the names of all units, statuses and processes.
func (d Dir) Known() ([]string, error) {
	var out []string
	for _, files := range []struct{ dir, suffix string }{{d.unitsDir(), document}, {d.runDir(), document}, {d.runDir(), ".pid"}} {
		all, err := listNames(files.dir, files.suffix)
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

// document is the suffix of units and statuses.
const document = ".json"

// listNames returns the sorted names of a directory's files with a suffix. It returns an error for an
// unreadable directory, because an empty list would stop all processes.
func listNames(dir, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name, found := strings.CutSuffix(e.Name(), suffix); found {
			out = append(out, name)
		}
	}
	return out, nil
}

// Forget deletes the status of a process that has ended.
func (d Dir) Forget(name string) error {
	return errors.Join(removeFile(d.pidFile(name)), removeFile(d.statusFile(name)))
}

func readJSON[T any](path string) (v T, found bool, err error) {
	err = atomicfile.ReadJSON(path, "run `det-deploy local up` again, which rewrites it", &v)
	if errors.Is(err, fs.ErrNotExist) {
		return v, false, nil
	}
	return v, err == nil, err
}

// writeJSON replaces the file atomically.
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
