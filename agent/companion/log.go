package companion

import (
	"bytes"
	"os"
)

// LogMost is the size at which a log is truncated, in bytes.
const LogMost = 64 << 10

// Log is the file in which a companion leaves its words; its writers append.
type Log string

// Begin truncates a log that has become too long.
func (l Log) Begin() {
	if info, err := os.Stat(string(l)); err == nil && info.Size() > LogMost {
		_ = os.Truncate(string(l), 0) // it is tried again
	}
}

// Size is where what is said next begins, in bytes.
func (l Log) Size() int64 {
	l.Begin()
	info, err := os.Stat(string(l))
	if err != nil {
		return 0 // there is none yet
	}
	return info.Size()
}

// LastWords is the last line after the first bytes.
func (l Log) LastWords(after int64) string {
	text, err := os.ReadFile(string(l))
	if err != nil {
		return "it has no log: " + err.Error()
	}
	text = bytes.TrimSpace(text[min(after, int64(len(text))):])
	if len(text) == 0 {
		return "it said nothing in " + string(l)
	}
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}

// open is nil where there is no room for one. A companion must not write to the
// agent's output: the process that reads it waits until the last writer has exited.
func (l Log) open() *os.File {
	l.Begin()
	f, err := os.OpenFile(string(l), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil
	}
	return f
}
