// Package stream defines what passes between a person and a running container: the input and output of
// a program that is started inside it. The agent, the master and the client each hold one end of the
// same Process.
package stream

import "io"

// Program is a program to start inside a container. It runs as the container's user, with its variables
// and in its working directory.
type Program struct {
	// Argv is the program and its arguments.
	Argv []string
	// Terminal is the size of the program's terminal, or nil for a program without one. The output of
	// a program with a terminal is its standard output alone.
	Terminal *Size
}

// Size is the size of a terminal in characters.
type Size struct {
	Columns uint16 `json:"columns"`
	Rows    uint16 `json:"rows"`
}

// Process is a program that runs inside a container. Its methods are safe for concurrent use, except
// that each of the streams has one reader or writer.
type Process interface {
	// Write writes to the standard input, and CloseWrite ends it.
	io.Writer
	CloseWrite() error
	// Stdout and Stderr return the output. Both must be read: a program whose output nobody reads
	// stops, and so does its other output.
	Stdout() io.Reader
	Stderr() io.Reader
	// Resize changes the size of the terminal. It has no effect on a program without one.
	Resize(s Size) error
	// Signal sends a signal to the program and its children: "INT", "TERM", "KILL", "HUP", "QUIT",
	// "USR1", "USR2".
	Signal(name string) error
	// Wait waits for the end of the program and returns its exit code, 128+n for one that signal n
	// ended. The error is not nil if the code is unknown, because the container or a connection ended.
	Wait() (code int, err error)
	// Close ends the program if it is running, and releases the stream.
	Close() error
}
