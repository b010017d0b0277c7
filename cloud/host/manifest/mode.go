package manifest

import (
	"fmt"
	"io/fs"
	"strconv"
)

// Mode is a file's permissions, written in octal as people know them: "0600".
type Mode uint32

// Perm is the mode as it is given to a file; zero is for root only.
func (m Mode) Perm() fs.FileMode {
	if m == 0 {
		return 0o600
	}
	return fs.FileMode(m)
}

// String is the mode in octal.
func (m Mode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

// MarshalText writes it in octal.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads it in octal.
func (m *Mode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil {
		return fmt.Errorf("mode %q: must be octal digits", text)
	}
	*m = Mode(n)
	return nil
}
