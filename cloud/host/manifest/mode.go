package manifest

import (
	"fmt"
	"io/fs"
	"strconv"
)

// Mode is a file mode, encoded as octal text: "0600".
type Mode uint32

// Perm returns the file mode. Zero yields 0600.
func (m Mode) Perm() fs.FileMode {
	if m == 0 {
		return 0o600
	}
	return fs.FileMode(m)
}

// String returns the mode in octal.
func (m Mode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

// MarshalText encodes the mode in octal.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText decodes an octal mode.
func (m *Mode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil {
		return fmt.Errorf("mode %q: must be octal digits", text)
	}
	*m = Mode(n)
	return nil
}
