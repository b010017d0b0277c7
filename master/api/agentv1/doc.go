// Package agentv1 defines the messages between a master and its agents, generated from link.proto,
// which documents the protocol. They are sent as binary protobuf, one message per websocket frame.
//
// It imports only the API's messages.
package agentv1

// Protocol is the protocol version of this binary. A master accepts this version and the one
// before, so that agents can be upgraded after their master.
const Protocol = 1

// OldestProtocol is the oldest protocol version that a master accepts.
const OldestProtocol = 1

// StreamsPath is the path of the streams that agents open, below the path of the link. The ID of the
// stream follows.
const StreamsPath = "/streams/"
