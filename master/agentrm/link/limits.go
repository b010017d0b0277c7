package link

import "time"

// Limits bound the resources that a peer on the agent link may use.
type Limits struct {
	// Hello is the time limit for an agent's hello.
	Hello time.Duration
	// Write is the time limit for an agent to read one message.
	Write time.Duration
	// Ping is the time after which a silent link is pinged, and the time limit for the answer.
	Ping time.Duration
	// Introduction is the maximum size of an agent's first message in bytes, Message that of messages
	// after its admission.
	Introduction int64
	Message      int64
	// Unwelcomed is the maximum number of connections whose agents are not admitted yet, and
	// UnwelcomedEach the maximum from one address.
	Unwelcomed     int
	UnwelcomedEach int
	// Queue is the maximum number of messages queued for an agent that reads slowly.
	Queue int
	// Unanswered is the maximum number of messages of one agent that wait to be stored; beyond it no
	// more are read.
	Unanswered int
	// Slots is the maximum number of devices of one agent.
	Slots int
	// Stream is the time limit for an agent to open a stream into a container, and for the end of those
	// whose container has ended.
	Stream time.Duration
}

// Defaults for the number of connections that wait for their agent's hello.
const (
	DefaultUnwelcomed     = 768
	DefaultUnwelcomedEach = 256
)

// DefaultLimits returns limits that are generous for agents and cheap for a master.
func DefaultLimits() Limits {
	return Limits{
		Hello: 5 * time.Second,
		Write: 10 * time.Second,
		// Half the shortest reconnect wait in use, so that an agent that comes back over a new network
		// path is not refused for long because of its stale connection.
		Ping: 10 * time.Second,
		// 700 devices and 100 containers, each with a UUID.
		Introduction: 64 << 10,
		Message:      4 << 20,
		// At 100 KB each, connections of strangers use less than 100 MB; a thousand agents behind one
		// address are admitted within seconds.
		Unwelcomed:     DefaultUnwelcomed,
		UnwelcomedEach: DefaultUnwelcomedEach,
		Queue:          4096,
		Unanswered:     256,
		Slots:          1024,
		Stream:         10 * time.Second,
	}
}
