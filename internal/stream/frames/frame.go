package frames

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// kind is the first byte of a message.
type kind byte

const (
	stdin   kind = 0
	stdout  kind = 1
	stderr  kind = 2
	command kind = 3
)

// control is a message about a program. One field is set.
type control struct {
	// Resize, Signal and CloseStdin are sent towards the container.
	Resize     *stream.Size `json:"resize,omitempty"`
	Signal     string       `json:"signal,omitempty"`
	CloseStdin bool         `json:"close_stdin,omitempty"`
	// Taken is the number of bytes of the standard input that the program has read since the last such
	// message.
	Taken int `json:"taken,omitempty"`
	// Exit is the exit code of the program; all of its output was sent. Error is sent instead if the
	// code is unknown.
	Exit  *int   `json:"exit,omitempty"`
	Error string `json:"error,omitempty"`
}

// maxError is the maximum length of the text of an error in bytes.
const maxError = 4 << 10

func (c control) encode() []byte {
	if len(c.Error) > maxError {
		c.Error = c.Error[:maxError]
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // no field can fail
	}
	return append([]byte{byte(command)}, data...)
}

var errEmpty = errors.New("an empty message")

// decode splits a message. The payload is part of data; for a command it is decoded into c.
func decode(data []byte) (k kind, payload []byte, c control, err error) {
	if len(data) == 0 {
		return 0, nil, c, errEmpty
	}
	k, payload = kind(data[0]), data[1:]
	switch {
	case k > command:
		return k, nil, c, fmt.Errorf("a message of the unknown kind %d", k)
	case len(payload) > MaxPayload:
		return k, nil, c, fmt.Errorf("a message of %d bytes; the maximum is %d", len(payload), MaxPayload)
	case k != command:
		return k, payload, c, nil
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return k, nil, control{}, fmt.Errorf("a control message: %w", err)
	}
	return k, payload, c, nil
}
