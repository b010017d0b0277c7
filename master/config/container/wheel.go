package container

import (
	"path"
	"path/filepath"
	"regexp"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Wheel is a Python wheel on the master's machine. The zero Wheel means that none is configured.
type Wheel struct {
	File string `yaml:"file" doc:"The wheel on the master's machine"`
	// SHA256 is in hexadecimal. If it is empty, the file is not verified.
	SHA256 string `yaml:"sha256" doc:"SHA-256 of the wheel; the master does not start if it differs"`
}

type wheelObject Wheel

// UnmarshalDocument reads a path, or a path with its hash.
func (w *Wheel) UnmarshalDocument(v document.Value) {
	if v.IsText() {
		*w = Wheel{File: v.Text()}
		return
	}
	var o wheelObject
	if v.Decode(&o) {
		*w = Wheel(o)
	}
}

// MarshalDocument returns the path, or the path with its hash.
func (w Wheel) MarshalDocument() any {
	switch {
	case w == Wheel{}:
		return nil
	case w.SHA256 == "":
		return w.File
	}
	return wheelObject(w)
}

// DocumentShape implements document.Shaper.
func (Wheel) DocumentShape() string { return "text, or {file, sha256}" }

// pip parses name, version and three tags from the file name.
var (
	wheelName  = regexp.MustCompile(`^[A-Za-z0-9_.]+-[A-Za-z0-9_.!+]+(-[0-9][A-Za-z0-9_.]*)?-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+-[A-Za-z0-9_.]+\.whl$`)
	sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// ValidWheelName reports whether pip accepts the file name.
func ValidWheelName(name string) bool { return wheelName.MatchString(name) }

// Validate checks the name and the hash.
func (w Wheel) Validate(at string) document.Errors {
	var e document.Errors
	if w == (Wheel{}) {
		return e
	}
	e.Check(filepath.IsAbs(w.File), document.Join(at, "file"), "must be absolute (is %q)", w.File)
	e.Check(ValidWheelName(filepath.Base(w.File)), document.Join(at, "file"),
		"must be a valid name of a wheel, such as determined-0.38.1-py3-none-any.whl (is %q)", filepath.Base(w.File))
	e.Check(w.SHA256 == "" || sha256Text.MatchString(w.SHA256), document.Join(at, "sha256"), "must be 64 hexadecimal digits, in lower case (is %q)", w.SHA256)
	return e
}

// HarnessPrefix is the URL path below which the master serves wheels.
const HarnessPrefix = "/harness/"

// URLPath returns the URL path of the wheel once its hash is known, or "".
func (w Wheel) URLPath() string {
	if w.SHA256 == "" {
		return ""
	}
	return HarnessPrefix + path.Join(w.SHA256, filepath.Base(w.File))
}
