package link

import "time"

// Limits bound what a peer on the agent link may cost.
type Limits struct {
	// Hello is how long an agent may take to introduce itself.
	Hello time.Duration
	// Write is how long an agent may take to read one message.
	Write time.Duration
	// Ping is how often a silent link is tried, and how long an answer may take.
	Ping time.Duration
	// Introduction is the size of an agent's first message in bytes, and Message of
	// those after it was admitted.
	Introduction int64
	Message      int64
	// Unwelcomed is how many connections may be open whose agent is not admitted
	// yet, and UnwelcomedEach how many of them from one address.
	Unwelcomed     int
	UnwelcomedEach int
	// Queue is how many messages may wait for an agent that reads slowly.
	Queue int
	// Unanswered is how many messages of one agent may wait to be stored before
	// no more are read.
	Unanswered int
	// Slots is how many devices one agent may have.
	Slots int
}

// The connections that may wait for their agent's introduction.
const (
	DefaultUnwelcomed     = 768
	DefaultUnwelcomedEach = 256
)

// DefaultLimits are generous to agents and small for a master.
func DefaultLimits() Limits {
	return Limits{
		Hello: 5 * time.Second,
		Write: 10 * time.Second,
		// Half the shortest reconnect wait in use, so that an agent that comes
		// back over a new network path does not meet its own ghost for long.
		Ping: 10 * time.Second,
		// 700 devices and 100 containers, each with a UUID.
		Introduction: 64 << 10,
		Message:      4 << 20,
		// At 100 KB each, what strangers can make of it stays below 100 MB; a
		// thousand agents behind one address are in within seconds.
		Unwelcomed:     DefaultUnwelcomed,
		UnwelcomedEach: DefaultUnwelcomedEach,
		Queue:          4096,
		Unanswered:     256,
		Slots:          1024,
	}
}
