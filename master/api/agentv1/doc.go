// Package agentv1 holds the messages of the link between a master and its
// agents, generated from link.proto, where the conversation is drawn. They
// travel as binary protobuf, one message a websocket frame.
//
// It is a leaf: it imports only the API's messages.
package agentv1

// Protocol is the version of the link that this binary speaks. A master
// accepts this one and the one before, so that agents may be upgraded after
// their master.
const Protocol = 1

// OldestProtocol is the oldest version of the link that a master accepts.
const OldestProtocol = 1
